import { useState } from "react";
import { restart } from "~/api/flows";
import type { RepoName } from "~/api/types";
import { shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Check, Field, Input, Select } from "~/ui/Field";
import { say } from "~/ui/toast";

const FROM = [
  { value: "start", text: "the first commit of its inputs" },
  { value: "now", text: "what comes from now on" },
  { value: "ref", text: "after a commit of its inputs" },
];

/** Begin anew, without state. */
export function RestartDialog({
  name,
  open,
  onClose,
}: {
  name: RepoName;
  open: boolean;
  onClose: () => void;
}) {
  const [from, setFrom] = useState("start");
  const [ref, setRef] = useState("");
  const [keep, setKeep] = useState(false);
  const [typed, setTyped] = useState("");
  const close = () => {
    setTyped("");
    onClose();
  };
  return (
    <ActionDialog
      open={open}
      onClose={close}
      title={`Restart ${shown(name)}`}
      about={
        keep
          ? "Its state is emptied. What it reads is added to the rows that are there."
          : "Its state is emptied, and its first new batch replaces the rows that are there."
      }
      action="Restart"
      danger
      ready={typed === shown(name) && (from !== "ref" || ref !== "")}
      doing={async () => {
        const done = await restart(name, from === "ref" ? ref : from, keep);
        say(`${shown(name)} begins anew, in epoch ${done.epoch}.`);
      }}
    >
      <Field label="Read from">
        <Select value={from} onChange={(event) => setFrom(event.target.value)} options={FROM} />
      </Field>
      {from === "ref" && (
        <Field label="Commit" hint="A branch, a tag or an ID, with steps: main~3">
          <Input value={ref} onChange={(event) => setRef(event.target.value)} />
        </Field>
      )}
      <Check label="Keep the rows that are there" checked={keep} onChange={setKeep} />
      <Field label={`Type ${shown(name)} to confirm`}>
        <Input value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Field>
    </ActionDialog>
  );
}
