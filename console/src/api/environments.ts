import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { Schema } from "./types";

export type Environment = Schema<"Environment">;
export type EnvironmentStatus = Schema<"EnvironmentStatus">;
export type EnvironmentDiff = Schema<"EnvironmentDiff">;
export type EnvironmentReport = Schema<"EnvironmentReport">;
export type PipelineState = Schema<"PipelineState">;
export type BranchState = Schema<"BranchState">;
export type CodeDelta = Schema<"CodeDiff">;
export type RepoDelta = Schema<"RepoDelta">;
export type TableDelta = Schema<"TableDelta">;

/** Which environment: names are told apart within a project. */
export interface Place {
  project: string;
  environment: string;
}

export interface MergeWish {
  /** Although jobs of it failed or are not over. */
  force: boolean;
  /** Delete on the base what was deleted in it. */
  delete: boolean;
}

export type Strategy = "ours" | "theirs" | null;

const MOST = 1000;
/** What one is made from. */
const BASE = "main";
/** So many rows of each table that differs are shown. */
export const SAMPLES = 50;

export const environmentQueries = {
  list: () =>
    queryOptions({
      queryKey: key("environments", null, "list"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/environments", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  one: (place: Place) =>
    queryOptions({
      queryKey: key("environments", null, "status", place),
      queryFn: () =>
        data(
          api.GET("/api/v1/projects/{project}/environments/{environment}", {
            params: { path: place },
          }),
        ),
    }),
  /** Rows are compared for it, so it is asked again only when the status is another. */
  diff: (place: Place, status: EnvironmentStatus) =>
    queryOptions({
      queryKey: key("fixed", null, "environment", place, status.pipelines, status.branches),
      queryFn: () =>
        data(
          api.GET("/api/v1/projects/{project}/environments/{environment}/diff", {
            params: { path: place, query: { rows: SAMPLES } },
          }),
        ),
      placeholderData: keepPreviousData,
    }),
  merge: (place: Place, wish: MergeWish) =>
    queryOptions({
      queryKey: key("environments", null, "merge", place, wish),
      queryFn: () => mergeEnvironment(place, wish, true),
      // A refusal says why: nothing is gained by asking again.
      retry: false,
    }),
  sync: (place: Place, strategy: Strategy) =>
    queryOptions({
      queryKey: key("environments", null, "sync", place, strategy),
      queryFn: () => syncEnvironment(place, strategy, true),
      retry: false,
    }),
};

export const createEnvironment = ({ project, environment }: Place) =>
  data(
    api.POST("/api/v1/projects/{project}/environments", {
      params: { path: { project } },
      body: { name: environment, base: BASE },
    }),
  );

export const mergeEnvironment = (place: Place, wish: MergeWish, dry_run = false) =>
  data(
    api.POST("/api/v1/projects/{project}/environments/{environment}/merge", {
      params: { path: place },
      body: { ...wish, dry_run },
    }),
  );

export const syncEnvironment = (place: Place, strategy: Strategy, dry_run = false) =>
  data(
    api.POST("/api/v1/projects/{project}/environments/{environment}/sync", {
      params: { path: place },
      body: { strategy, dry_run },
    }),
  );

export const deleteEnvironment = (place: Place, force: boolean) =>
  data(
    api.DELETE("/api/v1/projects/{project}/environments/{environment}", {
      params: { path: place, query: { force } },
    }),
  );
