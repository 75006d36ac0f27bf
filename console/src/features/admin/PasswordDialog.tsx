import { useState } from "react";
import { setPassword } from "~/api/access";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { useChange } from "./useChange";

export function PasswordDialog({
  name,
  asksCurrent,
  onClose,
}: {
  name: string;
  asksCurrent?: boolean;
  onClose: () => void;
}) {
  const change = useChange("access");
  const [current, setCurrent] = useState("");
  const [password, setNew] = useState("");
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Password of ${name}`}
      about="A new one ends all other logins."
      action="Set"
      ready={password !== "" && (!asksCurrent || current !== "")}
      doing={() =>
        change(
          setPassword(name, password, asksCurrent ? current : null),
          `Set the password of ${name}.`,
        )
      }
    >
      {asksCurrent && (
        <Field label="Current password">
          <Input
            type="password"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
          />
        </Field>
      )}
      <Field label="New password" hint="Ten characters or more.">
        <Input
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(event) => setNew(event.target.value)}
        />
      </Field>
    </ActionDialog>
  );
}
