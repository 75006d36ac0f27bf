import { queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { RepoName } from "./types";

const MOST = 1000;

export const repoQueries = {
  /** All repos of a project, or of all projects. */
  list: (project?: string) =>
    queryOptions({
      queryKey: key("repos", null, "list", project),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/repos", { params: { query: { project, cursor, limit: MOST } } })),
        ),
    }),
  projects: () =>
    queryOptions({
      queryKey: key("repos", null, "projects"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/projects", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  one: (name: RepoName) =>
    queryOptions({
      queryKey: key("repos", name),
      queryFn: () => data(api.GET("/api/v1/repos/{project}/{repo}", { params: { path: name } })),
    }),
  branches: (name: RepoName) =>
    queryOptions({
      queryKey: key("commits", name, "branches"),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/repos/{project}/{repo}/branches", {
              params: { path: name, query: { cursor, limit: MOST } },
            }),
          ),
        ),
    }),
  tags: (name: RepoName) =>
    queryOptions({
      queryKey: key("commits", name, "tags"),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/repos/{project}/{repo}/tags", {
              params: { path: name, query: { cursor, limit: MOST } },
            }),
          ),
        ),
    }),
  /** Which branches follow others, and when. */
  triggers: (name: RepoName) =>
    queryOptions({
      queryKey: key("commits", name, "triggers"),
      queryFn: async () => {
        const page = await data(
          api.GET("/api/v1/repos/{project}/{repo}/triggers", { params: { path: name } }),
        );
        return page.items;
      },
    }),
};

export const createRepo = (name: RepoName, description: string) =>
  data(
    api.POST("/api/v1/projects/{project}/repos", {
      params: { path: { project: name.project } },
      body: { name: name.repo, description },
    }),
  );

export const deleteRepo = (name: RepoName) =>
  data(api.DELETE("/api/v1/repos/{project}/{repo}", { params: { path: name } }));

export const createBranch = (repo: RepoName, name: string, start: string | null) =>
  data(
    api.POST("/api/v1/repos/{project}/{repo}/branches", {
      params: { path: repo },
      body: { name, start },
    }),
  );

/** Points a branch at another commit, if it is still where it was seen. */
export const moveBranch = (repo: RepoName, branch: string, to: string, seen: string | null) =>
  data(
    api.PATCH("/api/v1/repos/{project}/{repo}/branches/{branch}", {
      params: { path: { ...repo, branch } },
      body: { to, if_head: seen },
    }),
  );

export const deleteBranch = (repo: RepoName, branch: string) =>
  data(
    api.DELETE("/api/v1/repos/{project}/{repo}/branches/{branch}", {
      params: { path: { ...repo, branch } },
    }),
  );

export const createTag = (repo: RepoName, name: string, start: string, message: string) =>
  data(
    api.POST("/api/v1/repos/{project}/{repo}/tags", {
      params: { path: repo },
      body: { name, start, message },
    }),
  );

export const deleteTag = (repo: RepoName, tag: string) =>
  data(
    api.DELETE("/api/v1/repos/{project}/{repo}/tags/{tag}", {
      params: { path: { ...repo, tag } },
    }),
  );
