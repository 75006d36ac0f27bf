import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { ref } from "~/lib/names";
import { api, contentUrl, data } from "./client";
import { errorOf } from "./errors";
import { key } from "./keys";
import type { RepoName, Schema } from "./types";

const PAGE = 1000;
const FOR_EVER = { staleTime: Number.POSITIVE_INFINITY };

/** What is at a path. All are asked by a commit's ID, so they never change. */
export const fileQueries = {
  folder: (repo: RepoName, commit: string, path: string, hidden: boolean) =>
    infiniteQueryOptions({
      queryKey: key("fixed", repo, "folder", commit, path, hidden),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/files", {
            params: {
              path: repo,
              query: { at: commit, path, hidden, limit: PAGE, cursor: pageParam },
            },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      ...FOR_EVER,
    }),
  stat: (repo: RepoName, commit: string, path: string) =>
    queryOptions({
      queryKey: key("fixed", repo, "stat", commit, path),
      queryFn: () =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/files/stat", {
            params: { path: repo, query: { at: commit, path } },
          }),
        ),
      ...FOR_EVER,
    }),
  /** The first bytes of a file. */
  bytes: (repo: RepoName, commit: string, path: string, length: number) =>
    queryOptions({
      queryKey: key("fixed", repo, "bytes", commit, path, length),
      queryFn: async () => {
        const url = `${contentUrl(repo, commit, path)}&length=${length}`;
        const answer = await fetch(url);
        if (!answer.ok) throw errorOf(answer.status, await answer.json().catch(() => null));
        return new Uint8Array(await answer.arrayBuffer());
      },
      ...FOR_EVER,
    }),
  /** The tables of a repo, or those at and below a folder. */
  tables: (repo: RepoName, commit: string, path?: string) =>
    queryOptions({
      queryKey: key("fixed", repo, "tables", commit, path),
      queryFn: async () => {
        const page = await data(
          api.GET("/api/v1/repos/{project}/{repo}/tables", {
            params: { path: repo, query: { at: commit, path, limit: PAGE } },
          }),
        );
        return page.items;
      },
      ...FOR_EVER,
    }),
};

/** The address of a folder as a tar archive. */
export function archiveUrl(repo: RepoName, at: string, path: string): string {
  const query = new URLSearchParams({ at, path });
  return `/api/v1/repos/${encodeURIComponent(repo.project)}/${encodeURIComponent(repo.repo)}/archive?${query}`;
}

/** Opens a transaction, or says that an open one is still wanted. */
export const begin = async (id?: string): Promise<string> =>
  (await data(api.POST("/api/v1/transactions", { body: { id, author: "" } }))).id;

export const drop = (txn: string) =>
  data(api.DELETE("/api/v1/transactions/{txn}", { params: { path: { txn } } }));

type Operation = Schema<"MakeCommit">["operations"][number];

/** Ends a transaction with one commit on a branch. */
async function end(
  txn: string,
  repo: RepoName,
  branch: string,
  operation: Operation,
  message: string,
) {
  const made = await data(
    api.POST("/api/v1/transactions/{txn}/commit", {
      params: { path: { txn } },
      body: {
        author: "",
        message,
        operations: [
          {
            kind: "commit",
            ref: ref(repo, branch),
            operations: [operation],
            message,
            follow: true,
            base: "",
          },
        ],
      },
    }),
  );
  return made.items[0]!;
}

/** Puts what was uploaded in a transaction onto a branch, as one commit. */
export const commitUpload = (
  txn: string,
  repo: RepoName,
  branch: string,
  receipts: string[],
  message: string,
) => end(txn, repo, branch, { kind: "put", receipts }, message);

/** Removes a file, or a folder with all that is in it, in a commit of its own. */
export const remove = async (repo: RepoName, branch: string, path: string, message: string) =>
  end(await begin(), repo, branch, { kind: "delete", path, recursive: true }, message);
