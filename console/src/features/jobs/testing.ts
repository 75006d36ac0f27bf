/** Jobs for tests. */
import type { Job } from "~/api/types";

export function job(id: string, repo: string, more: Partial<Job> = {}): Job {
  return {
    id,
    pipeline: { project: "default", repo },
    version: 1,
    branch: "main",
    state: "success",
    told_reason: { kind: "nothing", places: [], who: "", what: "", text: "" },
    told_cause: { kind: "run", places: [], who: "", what: "", text: "" },
    reason: "",
    cause: "run by hand",
    created: "2026-01-01T00:00:00Z",
    started: "2026-01-01T00:00:01Z",
    finished: "2026-01-01T00:00:03Z",
    attempt: 1,
    counts: {
      processed: 0,
      skipped: 0,
      failed: 0,
      recovered: 0,
      total: 0,
      bytes_in: 0,
      bytes_out: 0,
      download: 0,
      process: 0,
      upload: 0,
      spark_jobs: [],
    },
    inputs: [],
    priority: 0,
    is_stream: false,
    environment: "",
    ...more,
  };
}

export const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
