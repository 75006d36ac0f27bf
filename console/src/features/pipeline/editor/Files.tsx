import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { asApiError } from "~/api/errors";
import { pipelineQueries } from "~/api/pipelines";
import { repoQueries } from "~/api/repos";
import { statusQueries } from "~/api/status";
import { Button } from "~/ui/Button";
import { Code, languageOf } from "~/ui/code/Code";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { pathOf, SPEC } from "../files";
import { type Known, specCompletion } from "./complete";
import styles from "./Editor.module.css";
import { problemMark } from "./problem";
import type { Schema } from "./schema";
import type { Draft } from "./useDraft";

const HEIGHT = "clamp(220px, 44vh, 560px)";

/** The spec and its files, one at a time. */
export function Files({ draft, project }: { draft: Draft; project: string }) {
  const [chosen, setChosen] = useState(SPEC);
  const [adding, setAdding] = useState(false);
  const extensions = useSpecHelp(draft, project);
  const file = draft.files.find((one) => one.path === chosen);
  return (
    <Panel>
      <div className={styles.files} role="group" aria-label="Files">
        {[SPEC, ...draft.files.map((one) => one.path)].map((path) => (
          <span key={path} className={styles.file}>
            <button
              type="button"
              aria-pressed={path === (file?.path ?? SPEC)}
              onClick={() => setChosen(path)}
            >
              {path.replace(/^\//, "")}
            </button>
            {path !== SPEC && (
              <Button
                small
                kind="ghost"
                icon={X}
                label={`Remove ${path}`}
                onClick={() => draft.removeFile(path)}
              />
            )}
          </span>
        ))}
        <Button small kind="ghost" icon={Plus} onClick={() => setAdding(true)}>
          Add a file
        </Button>
      </div>
      {!file ? (
        <Code
          key={SPEC}
          label="Spec"
          language="yaml"
          height={HEIGHT}
          text={draft.text}
          onChange={draft.setText}
          extensions={extensions}
        />
      ) : file.text === null ? (
        <Note>This file is no text. It stays as it is, or can be removed.</Note>
      ) : (
        <Code
          key={file.path}
          label={file.path}
          language={languageOf(file.path)}
          height={HEIGHT}
          text={file.text}
          onChange={(text) => draft.setFile(file.path, text)}
        />
      )}
      {adding && (
        <AddFile
          taken={draft.files.map((one) => one.path)}
          onClose={() => setAdding(false)}
          onAdd={(path) => {
            draft.addFile(path);
            setChosen(path);
          }}
        />
      )}
    </Panel>
  );
}

/** Completion and marks for the spec. */
function useSpecHelp(draft: Draft, project: string) {
  const schema = useQuery(pipelineQueries.schema());
  const repos = useQuery(repoQueries.list());
  const pools = useQuery(statusQueries.pools());
  const known = useRef<Known>({ repos: [], projects: [], pools: [] });
  const names = repos.data ?? [];
  known.current = {
    repos: names
      .filter((one) => one.name.project === project && one.kind !== "system")
      .map((one) => one.name.repo),
    projects: [...new Set(names.map((one) => one.name.project))],
    pools: pools.data?.map((one) => one.name) ?? [],
  };
  const completion = useMemo(
    () => (schema.data ? specCompletion(schema.data as Schema, () => known.current) : []),
    [schema.data],
  );
  const error = draft.error;
  return useMemo(
    () => [completion, problemMark(error ? asApiError(error) : null)],
    [completion, error],
  );
}

function AddFile({
  taken,
  onAdd,
  onClose,
}: {
  taken: string[];
  onAdd: (path: string) => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState("");
  const path = pathOf(typed);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="Add a file"
      about="Files travel with the pipeline: Python, SQL, scripts. The spec names them by their path."
      action="Add"
      ready={path !== null && !taken.includes(path)}
      doing={async () => onAdd(path!)}
    >
      <Field label="Path" hint="As in clean.py or lib/words.py">
        <Input value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Field>
    </ActionDialog>
  );
}
