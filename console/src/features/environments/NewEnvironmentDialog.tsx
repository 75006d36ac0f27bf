import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { createEnvironment } from "~/api/environments";
import { repoQueries } from "~/api/repos";
import { DEFAULT_PROJECT, paths } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";

export function NewEnvironmentDialog({ onClose }: { onClose: () => void }) {
  const projects = useQuery(repoQueries.projects());
  const client = useQueryClient();
  const go = useNavigate();
  const [project, setProject] = useState(DEFAULT_PROJECT);
  const [name, setName] = useState("");
  const names = (projects.data ?? []).map((one) => one.name);
  const create = async () => {
    const made = await createEnvironment({ project, environment: name.trim() });
    void client.invalidateQueries();
    void go(paths.environment(made.project, made.name));
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New environment"
      about="Every repo of the project gets a branch of this name, from main. No data is copied."
      action="Create"
      ready={name.trim() !== ""}
      doing={create}
    >
      <Field label="Name" hint="Letters, digits, - and _.">
        <Input value={name} placeholder="dev" onChange={(event) => setName(event.target.value)} />
      </Field>
      {names.length > 1 && (
        <Field label="Project">
          <Select
            value={project}
            onChange={(event) => setProject(event.target.value)}
            options={names.map((one) => ({ value: one, text: one }))}
          />
        </Field>
      )}
    </ActionDialog>
  );
}
