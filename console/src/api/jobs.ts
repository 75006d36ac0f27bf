import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { Job, RepoName, Schema } from "./types";

export interface JobFilter {
  project?: string;
  /** PROJECT/NAME. */
  pipeline?: string;
  state?: string;
  /** The first digits of the ID; at least `SHORTEST_ID` of them. */
  id?: string;
}

export type Started = Schema<"Started">;
export type CommitSet = Schema<"CommitSet">;
export type Delivery = Schema<"Delivery">;

export const SHORTEST_ID = 8;
const MOST = 1000;
const OVER = ["success", "failure", "killed", "unrunnable"];

export const isOver = (job: Pick<Job, "state">): boolean => OVER.includes(job.state);

const of = (name: RepoName, job: string) => ({ path: { ...name, job } });

/** Where a job's log comes from, line by line; with `follow` until the job is over. */
export function logEventsUrl(
  name: RepoName,
  id: string,
  options: { follow: boolean; datum?: string },
): string {
  const query = new URLSearchParams({ follow: String(options.follow) });
  if (options.datum) query.set("datum", options.datum);
  const path = [name.project, name.repo, id].map(encodeURIComponent).join("/");
  return `/api/v1/jobs/${path}/logs/events?${query}`;
}

export const jobQueries = {
  /** Jobs by page, newest first. */
  list: (filter: JobFilter = {}, limit = 100) =>
    infiniteQueryOptions({
      queryKey: key("jobs", null, "list", filter, limit),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/jobs", { params: { query: { ...filter, limit, cursor: pageParam } } }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
  one: (name: RepoName, id: string) =>
    queryOptions({
      queryKey: key("jobs", name, "one", id),
      queryFn: () => data(api.GET("/api/v1/jobs/{project}/{repo}/{job}", { params: of(name, id) })),
    }),
  /** Why it ran, or not, and what became of it: in words. */
  why: (name: RepoName, id: string) =>
    queryOptions({
      queryKey: key("jobs", name, "why", id),
      queryFn: () =>
        data(api.GET("/api/v1/jobs/{project}/{repo}/{job}/why", { params: of(name, id) })),
    }),
  datums: (name: RepoName, id: string, state?: string) =>
    infiniteQueryOptions({
      queryKey: key("jobs", name, "datums", id, state),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/jobs/{project}/{repo}/{job}/datums", {
            params: { ...of(name, id), query: { state, limit: 200, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
  checks: (name: RepoName, id: string) =>
    queryOptions({
      queryKey: key("checks", name, "job", id),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/checks", {
              params: {
                query: { job: `${name.project}/${name.repo}@${id}`, cursor, limit: MOST },
              },
            }),
          ),
        ),
    }),
  /** Where its output went, by target. */
  deliveries: (name: RepoName, id: string) =>
    queryOptions({
      queryKey: key("jobs", name, "deliveries", id),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/deliveries", {
              params: {
                query: { pipeline: `${name.project}/${name.repo}`, job: id, cursor, limit: MOST },
              },
            }),
          ),
        ),
    }),
  /** Targets that lack the newest output, because it could not be delivered. */
  undelivered: () =>
    queryOptions({
      queryKey: key("jobs", null, "undelivered"),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/deliveries", {
              params: { query: { failed: true, cursor, limit: MOST } },
            }),
          ),
        ),
    }),
  /** The jobs of a commit set; none if it has none. */
  ofSet: (id: string) =>
    queryOptions({
      queryKey: key("jobs", null, "set", id),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/jobs", { params: { query: { id, cursor, limit: MOST } } })),
        ),
    }),
};

/** Stops a job and all that waits for it. */
export const cancelJob = (name: RepoName, id: string, reason = "") =>
  data(
    api.POST("/api/v1/jobs/{project}/{repo}/{job}/cancel", {
      params: of(name, id),
      body: { reason },
    }),
  );

/** Tries again what failed in a set, as a new set. */
export const rerunSet = (id: string): Promise<Started> =>
  data(api.POST("/api/v1/sets/{set_id}/rerun", { params: { path: { set_id: id } } }));

/** Tries again what failed to go out to a target. */
export const retryDelivery = ({ pipeline, target, commit }: Delivery) =>
  data(
    api.POST("/api/v1/pipelines/{project}/{repo}/deliveries/retry", {
      params: { path: pipeline },
      body: { target, job: commit },
    }),
  );
