import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { RepoName, Schema } from "./types";

export type Declaration = Schema<"Declaration">;
export type CodeFile = Schema<"CodeFile">;
export type PipelinePlan = Schema<"PipelinePlan">;
export type Backfill = Schema<"Backfill">;
export interface DatumOf {
  pipeline: RepoName;
  datum: Schema<"DatumInfo">;
}

const ONE = "/api/v1/pipelines/{project}/{repo}";
const MOST = 1000;
const RECENT = 100;

/** The repo that keeps a pipeline's spec and code, with a tag for each version. */
export const codeRepo = (name: RepoName): RepoName => ({
  project: name.project,
  repo: `${name.repo}.code`,
});

export const pipelineQueries = {
  one: (name: RepoName, version?: number) =>
    queryOptions({
      queryKey: key("pipelines", name, "one", version),
      queryFn: () => data(api.GET(ONE, { params: { path: name, query: { version } } })),
    }),
  versions: (name: RepoName) =>
    queryOptions({
      queryKey: key("pipelines", name, "versions"),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET(`${ONE}/versions`, { params: { path: name, query: { cursor, limit: MOST } } }),
          ),
        ),
    }),
  /** The spec as YAML, and the files of code, of a version or the newest. */
  text: (name: RepoName, version?: number) =>
    queryOptions({
      queryKey: key("pipelines", name, "text", version),
      queryFn: () => data(api.GET(`${ONE}/text`, { params: { path: name, query: { version } } })),
    }),
  why: (name: RepoName) =>
    queryOptions({
      queryKey: key("jobs", name, "why"),
      queryFn: () => data(api.GET(`${ONE}/why`, { params: { path: name } })),
    }),
  ticks: (name: RepoName, limit = 5) =>
    queryOptions({
      queryKey: key("pipelines", name, "ticks", limit),
      queryFn: () => data(api.GET(`${ONE}/ticks`, { params: { path: name, query: { limit } } })),
    }),
  jobs: (name: RepoName) =>
    infiniteQueryOptions({
      queryKey: key("jobs", name, "of"),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/jobs", {
            params: {
              query: { pipeline: `${name.project}/${name.repo}`, limit: RECENT, cursor: pageParam },
            },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
  /** The newest jobs of the lake: one request for the bars of all pipelines. */
  latest: (limit = MOST) =>
    queryOptions({
      queryKey: key("jobs", null, "latest", limit),
      queryFn: () => data(api.GET("/api/v1/jobs", { params: { query: { limit } } })),
    }),
  backfills: () =>
    queryOptions({
      queryKey: key("jobs", null, "backfills"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/backfills", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  schema: () =>
    queryOptions({
      queryKey: key("fixed", null, "schema"),
      queryFn: () => data(api.GET("/api/v1/pipelines/schema")),
      staleTime: Number.POSITIVE_INFINITY,
    }),
};

export const runPipeline = (name: RepoName) =>
  data(api.POST(`${ONE}/run`, { params: { path: name } }));

export const pausePipeline = (name: RepoName) =>
  data(api.POST(`${ONE}/pause`, { params: { path: name } }));

export const resumePipeline = (name: RepoName) =>
  data(api.POST(`${ONE}/resume`, { params: { path: name } }));

export const restorePipeline = (name: RepoName, version: number) =>
  data(api.POST(`${ONE}/restore`, { params: { path: name }, body: { version } }));

export const deletePipeline = (name: RepoName, keepRepo: boolean) =>
  data(api.DELETE(ONE, { params: { path: name, query: { keep_repo: keepRepo } } }));

/** Lets schedules tick now: that of a cron input by its name, or all. */
export const tickPipeline = (name: RepoName, input: string | null = null) =>
  data(api.POST(`${ONE}/ticks`, { params: { path: name }, body: { name: input } }));

export const startBackfill = (
  name: RepoName,
  { start, to, branch = "" }: { start: string | null; to: string | null; branch?: string },
) => data(api.POST(`${ONE}/backfills`, { params: { path: name }, body: { start, to, branch } }));

export const steerBackfill = (backfill: string, action: "pause" | "resume" | "cancel") =>
  data(
    api.POST("/api/v1/backfills/{backfill}/{action}", { params: { path: { backfill, action } } }),
  );

/** What stands in an editor, as the API applies it; or the first thing wrong with it. */
export const readSpec = (text: string, code: CodeFile[], project: string): Promise<Declaration> =>
  data(api.POST("/api/v1/pipelines/read", { body: { text, name: "spec.yaml", project, code } }));

export const planOf = (body: Declaration) =>
  data(api.POST("/api/v1/pipelines/plan", { body })) as Promise<Schema<"PlanReport">>;

export const applyPipelines = (body: Declaration) => data(api.POST("/api/v1/pipelines", { body }));

/** The datums that pipelines would have: the first of them, and whether there are more. */
export async function datumsOf(
  body: Declaration,
  most = 500,
): Promise<{ items: DatumOf[]; more: boolean }> {
  const answer = await api.POST("/api/v1/pipelines/datums", { body, parseAs: "stream" });
  const items: DatumOf[] = [];
  for await (const line of linesOf(answer.data as unknown as ReadableStream<Uint8Array>)) {
    if (items.length === most) return { items, more: true };
    items.push(JSON.parse(line) as DatumOf);
  }
  return { items, more: false };
}

/** Line by line; whoever stops reading stops the server, too. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let left = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const parts = (left + decoder.decode(value, { stream: !done })).split("\n");
      left = done ? "" : (parts.pop() ?? "");
      yield* parts.filter((part) => part !== "");
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
