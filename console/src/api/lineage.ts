import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { key } from "./keys";
import type { Schema } from "./types";

export type Lineage = Schema<"Lineage">;
export type LineageNode = Schema<"LineageNode">;
export type ColumnLineage = Schema<"ColumnLineage">;
export type ColumnNode = Schema<"ColumnNode">;
export type Hit = Schema<"Hit">;

/** So many places are followed at each step, unless more are asked for. */
export const FOLLOWED = 20;
export const MOST_FOLLOWED = 1000;

export const lineageQueries = {
  /** What a commit, file or folder was made from, and what was made from it. */
  of: (ref: string, limit = FOLLOWED) =>
    queryOptions({
      queryKey: key("lineage", null, "places", ref, limit),
      queryFn: () => data(api.GET("/api/v1/lineage", { params: { query: { ref, limit } } })),
    }),
  /** The same for the columns of a table, or for one of them. */
  columns: (ref: string, column?: string) =>
    queryOptions({
      queryKey: key("lineage", null, "columns", ref, column),
      queryFn: () =>
        data(api.GET("/api/v1/lineage/columns", { params: { query: { ref, column } } })),
    }),
  /** Where one could begin. */
  search: (text: string) =>
    queryOptions({
      queryKey: key("search", null, "lineage", text),
      queryFn: () => data(api.GET("/api/v1/search", { params: { query: { q: text, limit: 40 } } })),
      placeholderData: keepPreviousData,
      enabled: text !== "",
    }),
};
