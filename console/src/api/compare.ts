import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ref } from "~/lib/names";
import { api, data } from "./client";
import { key } from "./keys";
import type { RepoName, Schema } from "./types";

export type Change = Schema<"Change">;
export type MergeReport = Schema<"MergeReport">;
export type PathConflict = Schema<"PathConflict">;
export type Side = "ours" | "theirs";

type Row = Record<string, unknown>;

export interface RowSample {
  change: "added" | "removed" | "changed";
  old: Row | null;
  new: Row | null;
  /** In which columns a changed row differs. */
  columns: string[];
}

/** How the rows of two tables differ. The API's description calls it any object. */
export interface RowDiff {
  key: string[];
  added: number;
  removed: number;
  changed: number;
  unchanged: number | null;
  rows: number | null;
  columns: Record<string, number>;
  schema: { name: string; old: string | null; new: string | null }[];
  duplicate_keys: { old: number; new: number };
  samples: RowSample[];
}

/** Two commits of a repo, by their IDs. */
export interface Pair {
  repo: RepoName;
  old: string;
  new: string;
}

export interface Matching {
  /** Columns that tell which rows belong together; none compares whole rows; undefined lets the table say. */
  by: string[] | undefined;
  oneSided: boolean;
  samples: number;
}

const PAGE = 1000;
const FOR_EVER = { staleTime: Number.POSITIVE_INFINITY };

export const compareQueries = {
  files: ({ repo, old, new: now }: Pair) =>
    infiniteQueryOptions({
      queryKey: key("fixed", repo, "diff", old, now),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/diff", {
            params: {
              query: { old: ref(repo, old), new: ref(repo, now), limit: PAGE, cursor: pageParam },
            },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      ...FOR_EVER,
    }),
  rows: ({ repo, old, new: now }: Pair, path: string, { by, oneSided, samples }: Matching) =>
    queryOptions({
      queryKey: key("fixed", repo, "rowdiff", old, now, path, by, oneSided, samples),
      queryFn: async () =>
        (await data(
          api.GET("/api/v1/tables/diff", {
            params: {
              query: {
                old: ref(repo, old, path),
                new: ref(repo, now, path),
                key: by && JSON.stringify(by),
                one_sided: oneSided,
                samples,
              },
            },
          }),
        )) as unknown as RowDiff,
      placeholderData: keepPreviousData,
      ...FOR_EVER,
    }),
  /** What a merge would do. `heads` are those that were looked at, so that it does not change by itself. */
  merge: (repo: RepoName, request: MergeWish, heads: (string | null | undefined)[]) =>
    queryOptions({
      queryKey: key("fixed", repo, "merge", request, heads),
      queryFn: () => merge(repo, request, { dry_run: true }),
      placeholderData: keepPreviousData,
      // A failed attempt tells of conflicts: nothing is gained by asking again.
      retry: false,
    }),
};

export interface MergeWish {
  source: string;
  target: string;
  /** Who wins where both sides changed a path and none was chosen for it. */
  strategy: Side | null;
  choices: Record<string, Side>;
}

const SPECIAL = /[\\*?[\]{}()|!@+,]/g;

/** A glob that means one path and no other. */
export const literal = (path: string): string => path.replace(SPECIAL, "\\$&");

/** Choices as globs. A folder's means all below it, so the longest path comes first. */
export function globs(choices: Record<string, Side>): Record<string, Side> {
  const longestFirst = Object.entries(choices).sort(([a], [b]) => b.length - a.length);
  return Object.fromEntries(longestFirst.map(([path, side]) => [literal(path), side]));
}

export const merge = (
  repo: RepoName,
  { source, target, strategy, choices }: MergeWish,
  { message = "", dry_run = false }: { message?: string; dry_run?: boolean },
): Promise<MergeReport> =>
  data(
    api.POST("/api/v1/merge", {
      body: {
        source: ref(repo, source),
        target: ref(repo, target),
        strategy,
        choose: globs(choices),
        message,
        dry_run,
      },
    }),
  );
