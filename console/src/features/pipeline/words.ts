/** Pipelines and plans in words. */
import type { PipelinePlan } from "~/api/pipelines";
import type { Job, Schema } from "~/api/types";
import { count, plural } from "~/lib/format";

export const howWords = (node: Pick<Schema<"OverviewNode">, "kind" | "how">): string =>
  node.kind === "pipeline" || !node.how || node.how === node.kind
    ? node.how || node.kind
    : `${node.kind}: ${node.how}`;

export const behindWords = (behind: number): string => (behind > 0 ? plural(behind, "input") : "");

/** `4 datums: 1 ran, 3 skipped`. */
export function datumWords(counts: Schema<"Counts">, noun = "datum"): string {
  if (!counts.total) return `no ${noun}s`;
  const parts = (
    [
      [counts.processed, "ran"],
      [counts.skipped, "skipped"],
      [counts.failed, "failed"],
      [counts.recovered, "recovered"],
    ] as const
  ).filter(([n]) => n > 0);
  const units = plural(counts.total, noun, noun === "batch" ? "batches" : undefined);
  return parts.length > 0 && noun === "datum"
    ? `${units}: ${parts.map(([n, word]) => `${count(n)} ${word}`).join(", ")}`
    : units;
}

export function rowWords({ rows_in, rows_out }: Schema<"Counts">): string {
  return rows_in === null || rows_out === null || rows_in === undefined || rows_out === undefined
    ? ""
    : `${count(rows_in)} → ${count(rows_out)}`;
}

export const unitOf = (job: Pick<Job, "is_stream">): string => (job.is_stream ? "batch" : "datum");

/** `3 new, 1 input changed`. That others are unchanged is said only where it is all there is. */
export function reasonWords(reasons: Record<string, number>): string {
  const kinds = Object.entries(reasons).filter(
    ([kind], _, all) => all.length === 1 || kind !== "unchanged",
  );
  return kinds
    .sort(([, a], [, b]) => b - a)
    .map(([kind, n]) => `${count(n)} ${kind}`)
    .join(", ");
}

const ACTIONS: Record<string, string> = {
  create: "is made",
  update: "gets a new version",
  unchanged: "stays as it is",
};

/** One sentence on what applying would do to a pipeline. */
export function planWords(plan: PipelinePlan): string {
  const does = ACTIONS[plan.action] ?? plan.action;
  const parts = (
    [
      [plan.run, "to run"],
      [plan.reuse, "taken from earlier results"],
      [plan.keep, "kept"],
      [plan.drop, "dropped"],
    ] as const
  )
    .filter(([n]) => n > 0)
    .map(([n, word]) => `${plural(n, "datum")} ${word}`);
  const work = parts.length > 0 ? parts.join(", ") : "nothing to run";
  return `${plan.name.repo} ${does} (v${plan.version}): ${work}.`;
}
