import { useState } from "react";
import { type QueryInfo, writeTable } from "~/api/sql";
import { plural } from "~/lib/format";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { say } from "~/ui/toast";

const MODES = [
  { value: "append", text: "Add the rows" },
  { value: "overwrite", text: "Replace the table" },
];

/** Writes a result as a table, in one commit that says where its rows are from. */
export function IntoDialog({ query, onClose }: { query: QueryInfo; onClose: () => void }) {
  const [target, setTarget] = useState("");
  const [mode, setMode] = useState("append");
  const write = async () => {
    const commit = await writeTable(query.id, target, mode);
    say(`Wrote ${plural(query.rows, "row")} to ${commit.repo.repo}@${commit.branch}.`);
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="Write as a table"
      about={`${plural(query.rows, "row")} become one commit.`}
      action="Write"
      ready={target.trim() !== ""}
      doing={write}
    >
      <Field
        label="Where"
        hint="A branch of a repo that is there, or a folder in it: report@main:/monthly"
      >
        <Input
          value={target}
          onChange={(event) => setTarget(event.target.value)}
          placeholder="repo@branch:/folder"
        />
      </Field>
      <Field label="How">
        <Select options={MODES} value={mode} onChange={(event) => setMode(event.target.value)} />
      </Field>
    </ActionDialog>
  );
}
