import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { repoQueries } from "~/api/repos";
import type { Schema } from "~/api/types";
import { DEFAULT_PROJECT, paths } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Field, Input, Select } from "~/ui/Field";
import { Answer, Loading } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { TEMPLATES } from "./editor/templates";

const PipelineEditor = lazy(() =>
  import("./editor/PipelineEditor").then((found) => ({ default: found.PipelineEditor })),
);
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export default function NewPipelinePage() {
  const repos = useQuery(repoQueries.list());
  return (
    <Page
      title="New pipeline"
      crumbs={[{ to: "/pipelines", text: "Pipelines" }]}
      about="Begin with a template, make it yours, and see what it would do."
    >
      <Answer of={repos}>{(all) => <FromTemplate repos={all} />}</Answer>
    </Page>
  );
}

function FromTemplate({ repos }: { repos: Schema<"Repo">[] }) {
  const navigate = useNavigate();
  const [params, set] = useQueryState();
  const [dirty, setDirty] = useState(false);
  const [begun, setBegun] = useState(0);
  const project = params.get("project") ?? DEFAULT_PROJECT;
  const projects = [...new Set([DEFAULT_PROJECT, ...repos.map((one) => one.name.project)])];
  const names = repos
    .filter((one) => one.name.project === project && one.kind !== "system" && one.kind !== "cron")
    .map((one) => one.name.repo);
  const kind = params.get("kind") ?? "sql";
  const template = TEMPLATES.find((one) => one.id === kind) ?? TEMPLATES[0]!;
  const asked = params.get("repo") ?? "";
  // It goes into the text of a spec: nothing but a name does.
  const repo = NAME.test(asked) ? asked : (names[0] ?? "orders");
  const name = params.get("name") ?? "my_pipeline";
  const start = useMemo(
    () => template.make(NAME.test(name) ? name : "my_pipeline", repo),
    [template, name, repo],
  );
  const applied = useCallback(
    ({ applied: [first] }: Schema<"ApplyReport">) => {
      if (first) void navigate(paths.pipeline(first.name));
    },
    [navigate],
  );
  return (
    <>
      <div className="row wrap" style={{ alignItems: "flex-start", gap: "var(--s3)" }}>
        <fieldset style={{ display: "contents" }} disabled={dirty} aria-label="Template">
          <Field label="Template" hint={template.about}>
            <Select
              value={template.id}
              onChange={(event) => set({ kind: event.target.value })}
              options={TEMPLATES.map((one) => ({ value: one.id, text: one.title }))}
            />
          </Field>
          {projects.length > 1 && (
            <Field label="Project" hint="Where it is made.">
              <Select
                value={project}
                onChange={(event) => set({ project: event.target.value, repo: null })}
                options={projects.map((value) => ({ value, text: value }))}
              />
            </Field>
          )}
          <Field label="Name" hint="Of the pipeline, and of the repo it writes.">
            <Input
              value={name}
              aria-invalid={!NAME.test(name)}
              onChange={(event) => set({ name: event.target.value || null })}
            />
          </Field>
          <Field label="Reads" hint="A repo, as its first input.">
            <Select
              value={repo}
              onChange={(event) => set({ repo: event.target.value })}
              options={(names.length > 0 ? names : [repo]).map((value) => ({ value, text: value }))}
            />
          </Field>
        </fieldset>
        {dirty && (
          <div style={{ paddingTop: 22 }}>
            <Button icon={RotateCcw} onClick={() => setBegun(begun + 1)}>
              Start over
            </Button>
          </div>
        )}
      </div>
      <Suspense fallback={<Loading what="Loading the editor" />}>
        <PipelineEditor
          key={`${begun} ${project} ${template.id} ${name} ${repo}`}
          start={start}
          project={project}
          onApplied={applied}
          onDirty={setDirty}
        />
      </Suspense>
    </>
  );
}
