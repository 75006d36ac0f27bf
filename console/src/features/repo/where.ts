/** Where in a repo one looks: what the URL says, and which commit that is now. */
import { useQuery } from "@tanstack/react-query";
import { commitQueries } from "~/api/commits";
import { repoQueries } from "~/api/repos";
import type { RepoName } from "~/api/types";
import { useAt } from "~/features/moment/useMoment";
import { paths } from "~/lib/names";

export interface Where {
  /** A branch, a tag or a commit; undefined while unknown, null if there was nothing then. */
  at: string | null | undefined;
  /** The commit's ID; null on a branch without any. */
  commit: string | null | undefined;
  /** The branch, if `at` is one: only there things can be put. */
  branch: string | undefined;
  error: unknown;
  retry: () => void;
}

export function useWhere(repo: RepoName): Where {
  const at = useAt(repo);
  const known = typeof at === "string";
  const found = useQuery({ ...commitQueries.resolve(repo, at ?? "main"), enabled: known });
  const branches = useQuery(repoQueries.branches(repo));
  return {
    at,
    commit: at === null ? null : found.data,
    branch: branches.data?.find((one) => one.name === at)?.name,
    error: found.data === undefined ? found.error : null,
    retry: () => void found.refetch(),
  };
}

/** An address within a repo; what is empty is left out. */
export function within(repo: RepoName, values: Record<string, string | null | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  const text = query.toString();
  return text ? `${paths.repo(repo)}?${text}` : paths.repo(repo);
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** A folder and a name within it as one path. */
export const join = (folder: string, name: string): string =>
  folder === "/" ? `/${name}` : `${folder}/${name}`;
