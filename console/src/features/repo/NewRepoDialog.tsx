import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { createRepo, repoQueries } from "~/api/repos";
import { DEFAULT_PROJECT, paths } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";

export default function NewRepoDialog({ onClose }: { onClose: () => void }) {
  const projects = useQuery(repoQueries.projects());
  const client = useQueryClient();
  const go = useNavigate();
  const [project, setProject] = useState(DEFAULT_PROJECT);
  const [repo, setRepo] = useState("");
  const [about, setAbout] = useState("");
  const names = (projects.data ?? []).map((one) => one.name);
  const create = async () => {
    const made = await createRepo({ project, repo: repo.trim() }, about.trim());
    void client.invalidateQueries({ queryKey: ["repos"] });
    void go(paths.repo(made.name));
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New repo"
      about="A repo holds files and tables, with every version of them."
      action="Create"
      ready={repo.trim() !== ""}
      doing={create}
    >
      <Field label="Name" hint="Letters, digits, - and _.">
        <Input value={repo} onChange={(event) => setRepo(event.target.value)} />
      </Field>
      {names.length > 1 && (
        <Field label="Project">
          <Select
            value={project}
            onChange={(event) => setProject(event.target.value)}
            options={names.map((name) => ({ value: name, text: name }))}
          />
        </Field>
      )}
      <Field label="Description">
        <Input value={about} onChange={(event) => setAbout(event.target.value)} />
      </Field>
    </ActionDialog>
  );
}
