import { useState } from "react";
import { createUser } from "~/api/access";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { RoleRows } from "./ScopeInput";
import { LAKE, type RoleRow, rolesOf } from "./scopes";
import { useChange } from "./useChange";

export function NewUserDialog({ onClose }: { onClose: () => void }) {
  const change = useChange("access");
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [rows, setRows] = useState<RoleRow[]>([{ scope: LAKE, role: "reader" }]);
  const user = {
    name: name.trim(),
    email: email.trim(),
    password: password || null,
    roles: rolesOf(rows),
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New user"
      action="Create"
      ready={user.name !== ""}
      doing={() => change(createUser(user), `Created ${user.name}.`)}
    >
      <Field label="Name" hint="Letters, digits and . _ @ + -; an e-mail address will do.">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="E-mail" hint="For single sign-on; may stay empty.">
        <Input type="email" value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Field label="Password" hint="Ten characters or more. Empty: a token or single sign-on only.">
        <Input
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <RoleRows legend="Roles" rows={rows} onChange={setRows} />
    </ActionDialog>
  );
}
