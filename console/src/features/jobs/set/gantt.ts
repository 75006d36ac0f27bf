/** When the jobs of a set waited and worked, as shares of the time that all took together. */
import type { Job } from "~/api/types";
import { full } from "~/lib/names";

const STEPS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 604800,
];

export interface Bar {
  from: number;
  to: number;
}

export interface GanttLine {
  job: Job;
  /** Until its inputs were there. */
  inputs: Bar;
  /** Until a worker took it. */
  queue: Bar;
  /** While it ran; undefined if it never did. */
  work?: Bar;
  /** Whether it is of the chain that decided when the set was done. */
  critical: boolean;
}

export interface Gantt {
  start: number;
  seconds: number;
  lines: GanttLine[];
}

const ms = (at: string): number => Date.parse(at);

/** Seconds between marks so that there are about `wanted` of them. */
export function tickStep(seconds: number, wanted = 6): number {
  return (
    STEPS.find((step) => seconds / step <= wanted) ??
    STEPS.at(-1)! * Math.ceil(seconds / STEPS.at(-1)! / wanted)
  );
}

/** The marks of the axis in seconds from its start, the last within it. */
export function ticks(seconds: number, wanted = 6): number[] {
  const step = tickStep(seconds, wanted);
  const marks = Math.floor(seconds / step + 1e-9) + 1;
  return Array.from({ length: marks }, (_, n) => Math.min(n * step, seconds));
}

/** The jobs of the same set that a job reads. */
function feeders(job: Job, byName: Map<string, Job>): Job[] {
  return (job.inputs ?? [])
    .map((input) => byName.get(full(input.repo)))
    .filter((one) => one !== undefined && one !== job) as Job[];
}

const endOf = (job: Job, now: number): number => (job.finished ? ms(job.finished) : now);

/** The chain of jobs, each waiting for the one before, that ended last. */
export function criticalPath(jobs: Job[], now: number): Set<Job> {
  const byName = new Map(jobs.map((job) => [full(job.pipeline), job]));
  const path = new Set<Job>();
  let next = latest(
    jobs.filter((job) => job.started),
    now,
  );
  while (next && !path.has(next)) {
    path.add(next);
    next = latest(
      feeders(next, byName).filter((job) => job.started),
      now,
    );
  }
  return path;
}

function latest(jobs: Job[], now: number): Job | undefined {
  return jobs.reduce<Job | undefined>(
    (last, job) => (!last || endOf(job, now) > endOf(last, now) ? job : last),
    undefined,
  );
}

export function gantt(jobs: Job[], now: number): Gantt {
  const start = Math.min(...jobs.map((job) => ms(job.created)));
  const end = Math.max(...jobs.map((job) => endOf(job, now)));
  const span = Math.max(1, end - start);
  const byName = new Map(jobs.map((job) => [full(job.pipeline), job]));
  const path = criticalPath(jobs, now);
  const share = (at: number): number => Math.min(1, Math.max(0, (at - start) / span));
  const lines = jobs.map((job): GanttLine => {
    const made = ms(job.created);
    const began = job.started ? ms(job.started) : endOf(job, now);
    const fed = Math.max(made, ...feeders(job, byName).map((one) => endOf(one, now)));
    const ready = Math.min(began, fed);
    return {
      job,
      inputs: { from: share(made), to: share(ready) },
      queue: { from: share(ready), to: share(began) },
      work: job.started ? { from: share(began), to: share(endOf(job, now)) } : undefined,
      critical: path.size > 1 && path.has(job),
    };
  });
  return { start, seconds: span / 1000, lines };
}
