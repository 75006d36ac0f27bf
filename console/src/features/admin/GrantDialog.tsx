import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { accessQueries, grant } from "~/api/access";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import styles from "./Admin.module.css";
import { RoleSelect, ScopeInput } from "./ScopeInput";
import { LAKE, MAY, ROLES } from "./scopes";
import { useChange } from "./useChange";

/** Gives a role on a scope, in place of what was given there. */
export function GrantDialog({
  user = "",
  role: given = "reader",
  scope: where = LAKE,
  onClose,
}: {
  user?: string;
  role?: string;
  scope?: string;
  onClose: () => void;
}) {
  const users = useQuery({ ...accessQueries.users(), enabled: user === "" });
  const change = useChange("access");
  const [who, setWho] = useState(user);
  const [role, setRole] = useState(given);
  const [scope, setScope] = useState(where);
  const id = useId();
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={user ? `A role for ${user}` : "Give a role"}
      about="It counts on all that is below, in place of a role given there before."
      action="Give"
      ready={who.trim() !== "" && scope.trim() !== ""}
      doing={() =>
        change(
          grant(who.trim(), role, scope.trim()),
          `${who.trim()} is ${role} on ${scope.trim()}.`,
        )
      }
    >
      {!user && (
        <Field label="User">
          <Input list={id} value={who} onChange={(event) => setWho(event.target.value)} />
          <datalist id={id}>
            {users.data?.map((one) => (
              <option key={one.name} value={one.name} />
            ))}
          </datalist>
        </Field>
      )}
      <Field label="Role">
        <RoleSelect value={role} onChange={setRole} />
      </Field>
      <Field label="On">
        <ScopeInput value={scope} onChange={setScope} />
      </Field>
      <dl className={styles.may}>
        {ROLES.map((one) => [<dt key={one}>{one}</dt>, <dd key={`${one} may`}>{MAY[one]}</dd>])}
      </dl>
    </ActionDialog>
  );
}
