/** Keys of what was fetched: `[noun, "project/repo" or "" for lake-wide, …the rest]`.
 *
 * The first two decide what an event makes stale: see live.ts. What can never change (a file of a
 * commit's ID) has the noun "fixed".
 */
import type { RepoName } from "./types";

export type Noun =
  | "access"
  | "checks"
  | "commits"
  | "environments"
  | "events"
  | "fixed"
  | "flows"
  | "info"
  | "jobs"
  | "lineage"
  | "logs"
  | "overview"
  | "pipelines"
  | "queries"
  | "repos"
  | "search"
  | "sets"
  | "status"
  | "tables";

export type Key = readonly [noun: Noun, scope: string, ...rest: unknown[]];

export function key(noun: Noun, repo?: RepoName | null, ...rest: unknown[]): Key {
  return [noun, repo ? `${repo.project}/${repo.repo}` : "", ...rest];
}
