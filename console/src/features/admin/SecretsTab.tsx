import { useQuery } from "@tanstack/react-query";
import { Lock, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { deleteSecret, setSecret, statusQueries } from "~/api/status";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Admin.module.css";
import { useChange } from "./useChange";

/** Secrets of pipelines, by name. What they are is never shown, not even here. */
export function SecretsTab() {
  const secrets = useQuery(statusQueries.secrets());
  const change = useChange("status");
  const [setting, set] = useState<string | null>(null);
  const [leaving, leave] = useState<string | null>(null);
  const columns: Column<string>[] = [
    {
      id: "name",
      title: "Name",
      cell: (name) => <span className={`mono ${styles.wraps}`}>{name}</span>,
      wide: true,
    },
    {
      id: "do",
      title: "",
      cell: (name) => (
        <>
          <Button
            small
            kind="ghost"
            icon={Pencil}
            label={`Set ${name} anew`}
            onClick={() => set(name)}
          />
          <Button
            small
            kind="ghost"
            icon={Trash2}
            label={`Delete ${name}`}
            onClick={() => leave(name)}
          />
        </>
      ),
      right: true,
    },
  ];
  return (
    <Panel
      title="Secrets of pipelines"
      actions={
        <Button small icon={Plus} onClick={() => set("")}>
          New secret
        </Button>
      }
    >
      <Answer of={secrets}>
        {(names) => (
          <List
            label="Secrets"
            items={names}
            columns={columns}
            keyOf={(name) => name}
            empty={
              <Empty title="No secrets" icon={Lock} command="trunkline secret set chat-token">
                A command that names one gets it as a variable. No screen and no log shows it.
              </Empty>
            }
          />
        )}
      </Answer>
      {setting !== null && <SetSecret name={setting} change={change} onClose={() => set(null)} />}
      {leaving !== null && (
        <ActionDialog
          open
          onClose={() => leave(null)}
          title={`Delete the secret ${leaving}?`}
          about="Jobs that name it fail from then on."
          action="Delete"
          danger
          doing={() => change(deleteSecret(leaving), `Deleted the secret ${leaving}.`)}
        />
      )}
    </Panel>
  );
}

function SetSecret({
  name: given,
  change,
  onClose,
}: {
  name: string;
  change: ReturnType<typeof useChange>;
  onClose: () => void;
}) {
  const [name, setName] = useState(given);
  const [value, setValue] = useState("");
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={given ? `Set ${given} anew` : "New secret"}
      about="It cannot be read back."
      action="Set"
      ready={name.trim() !== "" && value !== ""}
      doing={() => change(setSecret(name.trim(), value), `Set the secret ${name.trim()}.`)}
    >
      {!given && (
        <Field label="Name">
          <Input value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
      )}
      <Field label="Value">
        <Input
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      </Field>
    </ActionDialog>
  );
}
