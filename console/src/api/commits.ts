import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { ref } from "~/lib/names";
import { api, data } from "./client";
import { key } from "./keys";
import type { RepoName } from "./types";

const PAGE = 100;
const FOR_EVER = { staleTime: Number.POSITIVE_INFINITY };

export const commitQueries = {
  /** The ID that a branch, a tag or another revision stands for now; null on an empty branch. */
  resolve: (repo: RepoName, at: string) =>
    queryOptions({
      queryKey: key("commits", repo, "resolve", at),
      queryFn: async () => {
        const found = await data(
          api.GET("/api/v1/repos/{project}/{repo}/resolve", {
            params: { path: repo, query: { at } },
          }),
        );
        return found.commit;
      },
    }),
  one: (repo: RepoName, at: string) =>
    queryOptions({
      queryKey: key("commits", repo, "one", at),
      queryFn: () =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/commits/{at}", {
            params: { path: { ...repo, at } },
          }),
        ),
    }),
  /** The commits of all branches, newest first. */
  history: (repo: RepoName) =>
    infiniteQueryOptions({
      queryKey: key("commits", repo, "history"),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/history", {
            params: { path: repo, query: { limit: PAGE, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
  /** The commits that lead to one, or those of them that changed a path. */
  log: (repo: RepoName, at: string, path: string) =>
    infiniteQueryOptions({
      queryKey: key("commits", repo, "log", at, path),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/log", {
            params: {
              path: repo,
              query: { at, path: path || undefined, limit: PAGE, cursor: pageParam },
            },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
  /** What a commit changed. */
  changes: (repo: RepoName, commit: string) =>
    infiniteQueryOptions({
      queryKey: key("fixed", repo, "changes", commit),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/repos/{project}/{repo}/commits/{commit}/changes", {
            params: { path: { ...repo, commit }, query: { limit: PAGE, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      ...FOR_EVER,
    }),
  /** All commits that one change caused, with what each was made from. */
  set: (id: string) =>
    queryOptions({
      queryKey: key("sets", null, "one", id),
      queryFn: () =>
        data(api.GET("/api/v1/sets/{commit_id}", { params: { path: { commit_id: id } } })),
    }),
};

/** Undoes a commit with a new one, on a branch. */
export const revert = (repo: RepoName, commit: string, branch: string, message: string) =>
  data(
    api.POST("/api/v1/revert", {
      body: { ref: ref(repo, commit), branch: ref(repo, branch), message },
    }),
  );
