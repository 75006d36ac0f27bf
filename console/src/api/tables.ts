import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ref } from "~/lib/names";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { Page, RepoName, RowsPage, Schema, TableInfo } from "./types";

export type TableVersion = Schema<"TableVersion">;
export type ColumnProfile = Schema<"ColumnProfile">;
export type ColumnNode = Schema<"ColumnNode">;

const MOST = 1000;
const ROWS = 500;
/** Folders of a table's repo with rows that are not in the table. */
const ASIDE = ["/_late", "/_malformed", "/_quarantine"] as const;

/** What is named by a commit's ID never changes. */
const forever = { staleTime: Number.POSITIVE_INFINITY, gcTime: 600_000 };

export interface Described {
  info: TableInfo;
  /** What `at` meant: its rows, profile and lineage are asked for by this. */
  commit: string;
}

export const tableQueries = {
  /** Those of a project at main, or as of a commit set. */
  list: (project: string, moment?: string) =>
    queryOptions({
      queryKey: key("tables", null, "list", project, moment),
      queryFn: () =>
        everything(
          (cursor) =>
            data(
              api.GET("/api/v1/tables", {
                params: { query: { project, at: moment, cursor, limit: MOST } },
              }),
            ) as Promise<Page<TableInfo>>,
        ),
    }),
  /** The tables of one repo. Those that cannot be read are among them, and say why. */
  ofRepo: (name: RepoName, at: string) =>
    queryOptions({
      queryKey: key("tables", name, "all", at),
      queryFn: () =>
        everything(
          (cursor) =>
            data(
              api.GET("/api/v1/repos/{project}/{repo}/tables", {
                params: { path: name, query: { at, cursor, limit: MOST } },
              }),
            ) as Promise<Page<TableInfo>>,
        ),
    }),
  one: (name: RepoName, at: string, path: string) =>
    queryOptions({
      queryKey: key("tables", name, "one", at, path),
      queryFn: async (): Promise<Described> => {
        const answer = await api.GET("/api/v1/repos/{project}/{repo}/table", {
          params: { path: name, query: { at, path } },
        });
        const commit = answer.response.headers.get("x-trunkline-commit") ?? at;
        return { info: answer.data as TableInfo, commit };
      },
    }),
  rows: (name: RepoName, commit: string, path: string) =>
    infiniteQueryOptions({
      queryKey: key("fixed", name, "rows", commit, path),
      queryFn: async ({ pageParam }) => {
        const answer = await api.GET("/api/v1/repos/{project}/{repo}/table/rows", {
          params: { path: name, query: { at: commit, path, limit: ROWS, cursor: pageParam } },
        });
        // It can also answer in Arrow, so its type says nothing.
        return answer.data as RowsPage;
      },
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      placeholderData: keepPreviousData,
      ...forever,
    }),
  /** Of all columns, or of one. */
  profile: (name: RepoName, commit: string, path: string, column?: string) =>
    queryOptions({
      queryKey: key("fixed", name, "profile", commit, path, column),
      queryFn: () =>
        data(
          api.GET("/api/v1/tables/profile", {
            params: {
              query: {
                ref: ref(name, commit, path),
                // A list in JSON: names may have commas.
                columns: column === undefined ? undefined : JSON.stringify([column]),
              },
            },
          }),
        ),
      ...forever,
    }),
  history: (name: RepoName, at: string, path: string) =>
    infiniteQueryOptions({
      queryKey: key("tables", name, "history", at, path),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/table/history", {
            params: { path: name, query: { at, path, limit: 50, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      placeholderData: keepPreviousData,
    }),
  /** The folders of rows that were set aside: quarantined, late or malformed. */
  asides: (name: RepoName, commit: string) =>
    queryOptions({
      queryKey: key("fixed", name, "asides", commit),
      queryFn: () => asides(name, commit),
      ...forever,
    }),
  lineage: (name: RepoName, commit: string, path: string, column: string) =>
    queryOptions({
      queryKey: key("lineage", null, "column", name, commit, path, column),
      queryFn: () =>
        data(
          api.GET("/api/v1/lineage/columns", {
            params: { query: { ref: ref(name, commit, path), column } },
          }),
        ),
    }),
};

async function asides(name: RepoName, commit: string): Promise<string[]> {
  const folder = async (path: string) =>
    (
      await data(
        api.GET("/api/v1/repos/{project}/{repo}/files", {
          params: {
            path: name,
            query: { at: commit, path, hashes: false, hidden: true, limit: MOST },
          },
        }),
      )
    ).items;
  // Asked for by what is there: a folder that is not would be an error.
  const top = (await folder("/")).map((one) => one.path);
  const found = await Promise.all(
    ASIDE.filter((one) => top.includes(one)).map(async (one) => {
      const inside = await folder(one);
      const folders = inside.filter((file) => file.type === "folder").map((file) => file.path);
      // An ingest keeps its rows right there, a stream and a rule by name.
      return folders.length > 0 ? folders : inside.length > 0 ? [one] : [];
    }),
  );
  return found.flat();
}
