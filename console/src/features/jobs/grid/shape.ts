/** Jobs as a grid: a column for each commit set, a row for each pipeline. */
import type { Job, RepoName } from "~/api/types";
import { between } from "~/lib/format";
import { full } from "~/lib/names";
import { type Arrow, inGraphOrder } from "../order";

export interface SetColumn {
  id: string;
  /** When its first job was made. */
  at: string;
  /** The worst state of its jobs, or that they still run. */
  state: string;
  /** From the first job's making to the last one's end; null while they run. */
  seconds: number | null;
  jobs: Map<string, Job>;
}

export interface Grid {
  rows: RepoName[];
  /** Oldest first. */
  columns: SetColumn[];
}

const RANKS = ["running", "finishing", "waiting", "created", "failure", "unrunnable", "killed"];

/** What to say about several states at once. */
export function overall(states: string[]): string {
  return RANKS.find((state) => states.includes(state)) ?? states[0] ?? "";
}

/** `streams` takes in sets in which nothing but streams ran: there may be one every second. */
export function shapeGrid(jobs: Job[], edges: Arrow[], streams: boolean): Grid {
  const sets = new Map<string, Job[]>();
  for (const job of jobs) {
    const mates = sets.get(job.id);
    if (mates) mates.push(job);
    else sets.set(job.id, [job]);
  }
  const columns: SetColumn[] = [];
  const names = new Map<string, RepoName>();
  for (const [id, mates] of sets) {
    if (!streams && mates.every((job) => job.is_stream)) continue;
    for (const job of mates) names.set(full(job.pipeline), job.pipeline);
    const at = mates.map((job) => job.created).sort()[0]!;
    const ends = mates.map((job) => job.finished ?? "");
    const last = ends.every(Boolean) ? (ends.sort().at(-1) ?? null) : null;
    columns.push({
      id,
      at,
      state: overall(mates.map((job) => job.state)),
      seconds: last === null ? null : between(at, last),
      jobs: new Map(mates.map((job) => [full(job.pipeline), job])),
    });
  }
  columns.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1));
  return { rows: inGraphOrder([...names.values()], edges), columns };
}

/** A place in the grid: row -1 is the head, with the sets themselves. */
export type Place = [row: number, column: number];

/** Where a key leads from a place; undefined if it is no key to move by. */
export function moved(
  key: string,
  [row, column]: Place,
  rows: number,
  columns: number,
): Place | undefined {
  const steps: Record<string, Place> = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
    PageUp: [row - 10, column],
    PageDown: [row + 10, column],
  };
  const step = steps[key];
  if (!step) return undefined;
  const within = (n: number, least: number, most: number) => Math.max(least, Math.min(n, most));
  return [within(step[0], -1, rows - 1), within(step[1], 0, Math.max(0, columns - 1))];
}
