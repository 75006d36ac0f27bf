/** What needs somebody's eye, told from the overview of the lake. */

import type { Schema } from "~/api/types";
import type { SetSummary } from "~/features/moment/moments";
import { plural } from "~/lib/format";
import { full, paths } from "~/lib/names";

export type Node = Schema<"OverviewNode">;

const BAD = ["failure", "unrunnable", "failed"];
const FLOWS = ["stream", "ingest"];

export const isFlow = (node: Pick<Node, "kind">): boolean => FLOWS.includes(node.kind);

/** Where a pipeline, a stream or an ingest is shown. */
export const placeOf = (node: Pick<Node, "kind" | "name">): string =>
  isFlow(node) ? paths.stream(node.name) : paths.pipeline(node.name);

/** The newest set first, and in it what failed itself before what failed with it. */
function byCause(a: Node, b: Node): number {
  const newer = (b.job?.id ?? "").localeCompare(a.job?.id ?? "");
  return newer || (a.state === "unrunnable" ? 1 : 0) - (b.state === "unrunnable" ? 1 : 0);
}

/** Those whose last job failed, or which have stopped by themselves; the newest first. */
export const failed = (nodes: Node[]): Node[] =>
  nodes
    .filter((one) => BAD.includes(one.state) || BAD.includes(one.job?.state ?? ""))
    .sort(byCause);

/** Those whose output is older than what they read, and why nothing happens about it. */
export const late = (nodes: Node[]): Node[] =>
  nodes.filter((one) => one.behind > 0).sort((a, b) => b.behind - a.behind);

export function lateWords(node: Node): string {
  const inputs = plural(node.behind, "input");
  const has = node.behind === 1 ? "has" : "have";
  const reason = node.paused
    ? "it is paused"
    : BAD.includes(node.state)
      ? "its last job failed"
      : node.state === "running"
        ? "it is at work"
        : node.schedule
          ? "it waits for its schedule"
          : "";
  return [`${inputs} ${has} newer data`, reason].filter(Boolean).join("; ");
}

/** Those whose data broke a rule in their last job, the worst first. */
export const broken = (nodes: Node[]): Node[] =>
  nodes
    .filter(({ checks: c }) => c && (c.failed ?? 0) + (c.quarantined ?? 0) + (c.warned ?? 0) > 0)
    .sort((a, b) => (b.checks?.failed ?? 0) - (a.checks?.failed ?? 0));

export function checkWords({ failed = 0, quarantined = 0, warned = 0 }: Schema<"CheckCounts">) {
  const parts = [
    [failed, "failed"],
    [quarantined, "with rows in quarantine"],
    [warned, "warned"],
  ] as const;
  return parts
    .filter(([n]) => n > 0)
    .map(([n, word]) => `${plural(n, "rule")} ${word}`)
    .join(", ");
}

/** How many jobs the sets of a day had. `atLeast`: the list does not reach back to its morning. */
export function jobsSince(
  sets: Pick<SetSummary, "at" | "jobs">[],
  morning: number,
  whole: boolean,
): { jobs: number; atLeast: boolean } {
  const today = sets.filter((set) => Date.parse(set.at) >= morning);
  const jobs = today.flatMap((set) => Object.values(set.jobs)).reduce((sum, n) => sum + n, 0);
  return { jobs, atLeast: !whole && today.length === sets.length };
}

export function morningOf(now: number): number {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}

/** The sets up to a moment, newest first, without those that began in one of `hidden`. */
export function changesOf(
  sets: SetSummary[],
  moment: string | undefined,
  hidden: Set<string>,
): SetSummary[] {
  const from = moment ? sets.findIndex((set) => set.id.startsWith(moment)) : 0;
  return sets
    .slice(Math.max(from, 0))
    .filter((set) => !set.origin.length || set.origin.some((name) => !hidden.has(full(name))));
}
