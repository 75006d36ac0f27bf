import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { isOver } from "./jobs";
import { key } from "./keys";
import type { Schema } from "./types";

const POLL = 2000;

/** Whether jobs of the set that is looked at still run: then even the past changes. */
const isUnfinished = (overview?: Schema<"Overview">): boolean =>
  Boolean(overview?.nodes.some(({ job }) => job?.id === overview.at && !isOver(job)));

const PAST = {
  staleTime: 60_000,
  refetchInterval: ({ state }: { state: { data?: Schema<"Overview"> } }) =>
    isUnfinished(state.data) ? POLL : (false as const),
};

export const overviewQueries = {
  /** The whole lake's graph with the state of everything, now or as of a commit set. */
  at: (moment?: string, project?: string) =>
    queryOptions({
      queryKey: key(moment ? "fixed" : "overview", null, "overview", moment, project),
      queryFn: () =>
        data(api.GET("/api/v1/overview", { params: { query: { at: moment, project } } })),
      placeholderData: (before) => before,
      ...(moment ? PAST : {}),
    }),
  /** The commit sets of the lake, newest first: the moments one can look at. */
  sets: (project?: string, limit = 200) =>
    infiniteQueryOptions({
      queryKey: key("sets", null, project, limit),
      queryFn: ({ pageParam }) =>
        data(api.GET("/api/v1/sets", { params: { query: { project, limit, cursor: pageParam } } })),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
    }),
};
