import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { repoQueries } from "~/api/repos";
import { full } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Input, Select } from "~/ui/Field";
import styles from "./Admin.module.css";
import { LAKE, ROLES, type RoleRow, scopeText } from "./scopes";

/** A scope: typed, or chosen among what there is. */
export function ScopeInput({
  value,
  onChange,
}: {
  value: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const repos = useQuery(repoQueries.list());
  const projects = useQuery(repoQueries.projects());
  const scopes = [
    LAKE,
    ...(projects.data ?? []).map((one) => scopeText(one.name)),
    ...(repos.data ?? []).map((one) => full(one.name)),
  ];
  return (
    <>
      <Input
        aria-label="Where"
        placeholder="lake, project or project/repo"
        list={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={id}>
        {scopes.map((scope) => (
          <option key={scope} value={scope} />
        ))}
      </datalist>
    </>
  );
}

export const RoleSelect = ({
  value,
  onChange,
}: {
  value: string;
  onChange: (role: string) => void;
}) => (
  <Select
    aria-label="Role"
    value={value}
    onChange={(event) => onChange(event.target.value)}
    options={ROLES.map((role) => ({ value: role, text: role }))}
  />
);

/** Roles on scopes, as many as one likes. */
export function RoleRows({
  legend,
  rows,
  onChange,
}: {
  legend: string;
  rows: RoleRow[];
  onChange: (rows: RoleRow[]) => void;
}) {
  const put = (n: number, row: Partial<RoleRow>) =>
    onChange(rows.map((old, at) => (at === n ? { ...old, ...row } : old)));
  return (
    <fieldset className={styles.roles}>
      <legend>{legend}</legend>
      {rows.map((row, n) => (
        <div key={n} className={styles.role}>
          <RoleSelect value={row.role} onChange={(role) => put(n, { role })} />
          <span className="dim">on</span>
          <ScopeInput value={row.scope} onChange={(scope) => put(n, { scope })} />
          <Button
            kind="ghost"
            icon={X}
            label="Leave this out"
            onClick={() => onChange(rows.filter((_, at) => at !== n))}
          />
        </div>
      ))}
      <Button
        small
        icon={Plus}
        onClick={() => onChange([...rows, { scope: rows.length ? "" : LAKE, role: "reader" }])}
      >
        Add a role
      </Button>
    </fieldset>
  );
}
