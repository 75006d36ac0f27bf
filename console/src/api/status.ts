/** The lake and its server as a whole: figures, workers, pools, secrets, settings, upkeep. */
import { queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { Schema } from "./types";

export type GcReport = Schema<"GcReport">;
export type FsckReport = Schema<"FsckReport">;
export type Pool = Schema<"Pool">;

const MOST = 1000;
const EVERY = 5000;

export const statusQueries = {
  status: () =>
    queryOptions({
      queryKey: key("status", null),
      queryFn: () => data(api.GET("/api/v1/status")),
    }),
  /** Workers come and go without an event. */
  workers: () =>
    queryOptions({
      queryKey: key("jobs", null, "workers"),
      queryFn: () => data(api.GET("/api/v1/workers")),
      refetchInterval: EVERY,
    }),
  /** The jobs that wait and run. */
  running: () =>
    queryOptions({
      queryKey: key("jobs", null, "running"),
      queryFn: async () => (await data(api.GET("/api/v1/run"))).unfinished,
    }),
  pools: () =>
    queryOptions({
      queryKey: key("jobs", null, "pools"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/pools", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  secrets: () =>
    queryOptions({
      queryKey: key("status", null, "secrets"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/secrets", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  settings: () =>
    queryOptions({
      queryKey: key("info", null, "settings"),
      queryFn: async () => (await data(api.GET("/api/v1/settings"))).items,
    }),
};

export const setPool = (name: string, slots: number) =>
  data(api.PUT("/api/v1/pools/{name}", { params: { path: { name } }, body: { slots } }));

export const deletePool = (name: string) =>
  data(api.DELETE("/api/v1/pools/{name}", { params: { path: { name } } }));

export const setSecret = (name: string, value: string) =>
  data(api.PUT("/api/v1/secrets/{name}", { params: { path: { name } }, body: { value } }));

export const deleteSecret = (name: string) =>
  data(api.DELETE("/api/v1/secrets/{name}", { params: { path: { name } } }));

/** Removes what nothing needs, or says what it would remove. */
export const collect = (dryRun: boolean) =>
  data(api.POST("/api/v1/gc", { body: { dry_run: dryRun } }));

/** Checks every promise of the lake; deeply, every byte. */
export const examine = (deep: boolean) => data(api.POST("/api/v1/fsck", { body: { deep } }));

/** Writes to the store, reads it back and deletes it again. */
export const tryStore = () => data(api.POST("/api/v1/check"));
