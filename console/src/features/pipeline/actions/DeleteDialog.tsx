import { useState } from "react";
import { useNavigate } from "react-router";
import { deletePipeline } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Check, Field, Input } from "~/ui/Field";
import { say } from "~/ui/toast";

/** Deletes a pipeline, once its name was typed. */
export function DeleteDialog({ name, onClose }: { name: RepoName; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [keep, setKeep] = useState(true);
  const navigate = useNavigate();
  const title = shown(name);
  return (
    <ActionDialog
      open
      danger
      onClose={onClose}
      title={`Delete ${title}?`}
      about={
        keep
          ? `Its code and its jobs go, and it runs no more. What it has made stays in the repo ${title}.`
          : `Its code, its jobs and all that it has made go. This cannot be undone.`
      }
      action="Delete"
      ready={typed === title}
      doing={async () => {
        await deletePipeline(name, keep);
        say(`${title} is deleted.`);
        void navigate("/pipelines");
      }}
    >
      <div className="stack">
        <Check label="Keep its output" checked={keep} onChange={setKeep} />
        <Field label={`Type ${title} to confirm`}>
          <Input value={typed} onChange={(event) => setTyped(event.target.value)} />
        </Field>
      </div>
    </ActionDialog>
  );
}
