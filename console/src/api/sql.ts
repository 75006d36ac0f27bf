import { queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { errorOf } from "./errors";
import { key } from "./keys";
import type { Page, RowsPage, Schema, TableInfo } from "./types";

export type QueryInfo = Schema<"QueryInfo">;

/** What is asked. `at` is a commit set: the whole lake as of then. */
export interface Asked {
  text: string;
  engine: string;
  at?: string;
  project?: string;
}

const WAIT = 5;
const MOST = 1000;

export const sqlQueries = {
  /** The queries that the server keeps of the reader, the newest first. */
  kept: () =>
    queryOptions({
      queryKey: key("queries", null),
      queryFn: async () => {
        const found = await everything((cursor) =>
          data(api.GET("/api/v1/sql", { params: { query: { cursor, limit: MOST } } })),
        );
        return found.reverse();
      },
      staleTime: 0,
    }),
  /** The tables that a query can name, with their columns. */
  tables: (project: string, at?: string) =>
    queryOptions({
      queryKey: key("tables", null, "sql", project, at),
      queryFn: () =>
        everything(
          (cursor) =>
            data(
              api.GET("/api/v1/tables", {
                params: { query: { project, at, cursor, limit: MOST } },
              }),
            ) as Promise<Page<TableInfo>>,
        ),
    }),
};

export const isOver = (query: QueryInfo): boolean =>
  query.state === "done" || query.state === "failed" || query.state === "cancelled";

export const ask = (asked: Asked): Promise<QueryInfo> =>
  data(api.POST("/api/v1/sql", { body: { ...asked, wait: 0.2 } }));

/** How far a query is, when there is news, or after some seconds. */
export const follow = (id: string, rows: number): Promise<QueryInfo> =>
  data(
    api.GET("/api/v1/sql/{query}", {
      params: { path: { query: id }, query: { wait: WAIT, rows: rows + MOST } },
    }),
  );

export const cancelQuery = (id: string) =>
  data(api.DELETE("/api/v1/sql/{query}", { params: { path: { query: id } } }));

export const queryRows = (id: string, start: number, limit: number): Promise<RowsPage> =>
  data(
    api.GET("/api/v1/sql/{query}/rows", {
      params: { path: { query: id }, query: { start, limit } },
    }),
  );

export const writeTable = (id: string, target: string, mode: string) =>
  data(
    api.POST("/api/v1/sql/{query}/into", {
      params: { path: { query: id } },
      body: { target, mode },
    }),
  );

/** All rows as a file, asked for anew. */
export async function exported(asked: Asked, kind: "text/csv" | "application/json"): Promise<Blob> {
  const answer = await fetch("/api/v1/sql/run", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: kind },
    body: JSON.stringify(asked),
  });
  if (!answer.ok) throw errorOf(answer.status, await answer.json().catch(() => null));
  return answer.blob();
}
