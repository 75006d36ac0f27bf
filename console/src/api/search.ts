import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { key } from "./keys";
import type { Schema } from "./types";

export type Hit = Schema<"Hit">;

export const searchQueries = {
  /** What has a text in its name, wherever in the lake. The last answer stays while one types. */
  find: (text: string, limit = 40) =>
    queryOptions({
      queryKey: key("search", null, text, limit),
      queryFn: ({ signal }) =>
        data(api.GET("/api/v1/search", { params: { query: { q: text, limit } }, signal })),
      enabled: text !== "",
      placeholderData: keepPreviousData,
    }),
};
