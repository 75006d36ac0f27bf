import { queryOptions } from "@tanstack/react-query";
import { full } from "~/lib/names";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { RepoName } from "./types";

const MOST = 1000;

export const checkQueries = {
  /** What became of each rule in the last jobs of a pipeline, newest first. */
  of: (name: RepoName, jobs = 60) =>
    queryOptions({
      queryKey: key("checks", name, "of", jobs),
      queryFn: () =>
        everything((cursor) =>
          data(
            api.GET("/api/v1/checks", {
              params: { query: { pipeline: full(name), jobs, cursor, limit: MOST } },
            }),
          ),
        ),
    }),
};

/** Computes again what has rows in quarantine, of one rule or of all. */
export const replay = (name: RepoName, rule?: string) =>
  data(api.POST("/api/v1/checks/replay", { body: { pipeline: full(name), rule } }));
