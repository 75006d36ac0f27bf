/** Streams and ingests. Their figures are asked for again and again: lag grows without an event. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { RepoName } from "./types";

const MOST = 1000;
const EVERY = 3000;

export const flowQueries = {
  streams: () =>
    queryOptions({
      queryKey: key("flows", null, "streams"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/streams", { params: { query: { cursor, limit: MOST } } })),
        ),
      refetchInterval: EVERY,
    }),
  ingests: () =>
    queryOptions({
      queryKey: key("flows", null, "ingests"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/ingests", { params: { query: { cursor, limit: MOST } } })),
        ),
      refetchInterval: EVERY,
    }),
  stream: (name: RepoName) =>
    queryOptions({
      queryKey: key("flows", name, "stream"),
      queryFn: () => data(api.GET("/api/v1/streams/{project}/{repo}", { params: { path: name } })),
      refetchInterval: EVERY,
    }),
  ingest: (name: RepoName) =>
    queryOptions({
      queryKey: key("flows", name, "ingest"),
      queryFn: () => data(api.GET("/api/v1/ingests/{project}/{repo}", { params: { path: name } })),
      refetchInterval: EVERY,
    }),
  /** Of a stream or an ingest, newest first. */
  batches: (name: RepoName) =>
    infiniteQueryOptions({
      queryKey: key("flows", name, "batches"),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/streams/{project}/{repo}/batches", {
            params: { path: name, query: { limit: 100, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      placeholderData: keepPreviousData,
    }),
  savepoints: (name: RepoName) =>
    queryOptions({
      queryKey: key("flows", name, "savepoints"),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/streams/{project}/{repo}/savepoints", {
              params: { path: name, query: { cursor, limit: MOST } },
            }),
          ),
        ),
    }),
  /** What a rewind would undo. */
  rewind: (name: RepoName, to: string) =>
    queryOptions({
      queryKey: key("flows", name, "rewind", to),
      queryFn: () =>
        data(
          api.GET("/api/v1/streams/{project}/{repo}/rewind", {
            params: { path: name, query: { to } },
          }),
        ),
    }),
};

export const rewind = (name: RepoName, to: string) =>
  data(
    api.POST("/api/v1/streams/{project}/{repo}/rewind", {
      params: { path: name },
      body: { to },
    }),
  );

export const restart = (name: RepoName, start: string, keep: boolean) =>
  data(
    api.POST("/api/v1/streams/{project}/{repo}/restart", {
      params: { path: name },
      body: { start, keep_output: keep },
    }),
  );

export const takeSavepoint = (name: RepoName) =>
  data(
    api.POST("/api/v1/streams/{project}/{repo}/savepoints", {
      params: { path: name },
    }),
  );

export const pauseFlow = (name: RepoName) =>
  data(api.POST("/api/v1/pipelines/{project}/{repo}/pause", { params: { path: name } }));

export const resumeFlow = (name: RepoName) =>
  data(api.POST("/api/v1/pipelines/{project}/{repo}/resume", { params: { path: name } }));
