/** Scopes and roles as people write them. */
import type { Grant } from "~/api/access";

export const ROLES = ["reader", "writer", "maintainer", "admin"] as const;

export const MAY: Record<(typeof ROLES)[number], string> = {
  reader: "read files, tables, history, jobs and logs; ask SQL",
  writer: "also put, commit, branch, merge; run and cancel jobs",
  maintainer: "also make and delete repos and pipelines: run code on the workers",
  admin: "also give roles; on the lake: users, secrets, upkeep, audit",
};

export const LAKE = "lake";

/** A scope as one types it. A project that is called lake is written `lake/`. */
export const scopeText = (scope: string): string =>
  scope === "" ? LAKE : scope === LAKE ? `${LAKE}/` : scope;

/** "the whole lake", "project shop", "repo shop/orders". */
export const scopeWords = (scope: string): string =>
  scope === "" ? "the whole lake" : scope.includes("/") ? `repo ${scope}` : `project ${scope}`;

export interface RoleRow {
  scope: string;
  role: string;
}

/** What rows of a form say, as the API takes it. Rows without a scope are not there. */
export const rolesOf = (rows: RoleRow[]): Record<string, string> =>
  Object.fromEntries(
    rows.filter((row) => row.scope.trim()).map((row) => [row.scope.trim(), row.role]),
  );

export const grantWords = (grants: Grant[]): string =>
  grants.map((one) => `${one.role} on ${scopeWords(one.scope)}`).join(", ");

export const isAdmin = (grants: Grant[], limits?: Grant[] | null): boolean => {
  const has = (some: Grant[]) => some.some((one) => one.scope === "" && one.role === "admin");
  return has(grants) && (!limits || has(limits));
};
