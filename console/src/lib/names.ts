import type { RepoName } from "~/api/types";

export const DEFAULT_PROJECT = "default";

/** `repo`, or `project/repo` outside the default project: as the command line writes it. */
export const shown = (name: RepoName): string =>
  name.project === DEFAULT_PROJECT ? name.repo : `${name.project}/${name.repo}`;

/** `project/repo`, always: for keys and for refs of the API. */
export const full = (name: RepoName): string => `${name.project}/${name.repo}`;

export const same = (a: RepoName, b: RepoName): boolean =>
  a.project === b.project && a.repo === b.repo;

/** What `shown` wrote, read back. */
export function parseName(text: string): RepoName {
  const at = text.indexOf("/");
  return at < 0
    ? { project: DEFAULT_PROJECT, repo: text }
    : { project: text.slice(0, at), repo: text.slice(at + 1) };
}

/** A ref for the API: `project/repo@at:/path`. */
export function ref(name: RepoName, at: string, path?: string | null): string {
  return `${full(name)}@${at}${path && path !== "/" ? `:${path}` : ""}`;
}

const part = encodeURIComponent;

/** Where things are shown. Tabs, filters and selections are added as a query. */
export const paths = {
  repo: (n: RepoName) => `/repos/${part(n.project)}/${part(n.repo)}`,
  pipeline: (n: RepoName) => `/pipelines/${part(n.project)}/${part(n.repo)}`,
  job: (n: RepoName, id: string) => `/jobs/${part(n.project)}/${part(n.repo)}/${part(id)}`,
  environment: (project: string, name: string) => `/environments/${part(project)}/${part(name)}`,
  set: (id: string) => `/sets/${part(id)}`,
  table: (n: RepoName) => `/tables/${part(n.project)}/${part(n.repo)}`,
  stream: (n: RepoName) => `/streams/${part(n.project)}/${part(n.repo)}`,
  lineage: (of: string, column?: string) =>
    `/lineage?${new URLSearchParams(column ? { ref: of, column } : { ref: of })}`,
  sql: (text: string) => `/sql?${new URLSearchParams({ q: text })}`,
};
