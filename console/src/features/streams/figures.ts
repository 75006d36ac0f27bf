/** What is said about streams and ingests, in words and numbers. */
import type { Batch, StreamStatus } from "~/api/types";
import { compact, plural, seconds, shortId } from "~/lib/format";

/** How far a stream is behind the input it is furthest behind. */
export function lagOf(inputs: StreamStatus["inputs"]): { commits: number; seconds: number } {
  return {
    commits: Math.max(0, ...inputs.map((one) => one.commits)),
    seconds: Math.max(0, ...inputs.map((one) => one.seconds)),
  };
}

export function lagText(lag: { commits: number; seconds: number }): string {
  if (lag.commits === 0) return "none";
  return `${plural(lag.commits, "commit")}, ${seconds(lag.seconds)}`;
}

export const rateText = (perSecond: number): string =>
  perSecond === 0 ? "0" : perSecond < 10 ? perSecond.toFixed(1) : compact(perSecond);

/** `5`, or `40–60` where the history made one of several. */
export const batchText = ({ first, number }: Pick<Batch, "first" | "number">): string =>
  first === number ? `${number}` : `${first}–${number}`;

const ID = /^[0-9a-f]{32}$/;

const offset = (value: unknown): string => {
  if (value === null || value === undefined) return "the beginning";
  if (typeof value === "string") return ID.test(value) ? shortId(value) : value;
  return JSON.stringify(value);
};

/** `clicks: 01a1… → 01a2…` for each input that a batch read on. */
export function offsetsText({ start, end }: Pick<Batch, "start" | "end">): string {
  return [...new Set([...Object.keys(start), ...Object.keys(end)])]
    .map((name) => {
      const [from, to] = [offset(start[name]), offset(end[name])];
      return from === to ? `${name}: ${to}` : `${name}: ${from} → ${to}`;
    })
    .join("; ");
}

export const positionText = (position: Record<string, unknown>): string =>
  Object.entries(position)
    .map(([name, value]) => `${name}: ${offset(value)}`)
    .join("; ");

/** Rows by the second of work; 0 where a batch took no time. */
export const speedOf = ({ rows_in, seconds: took }: Batch): number =>
  took > 0 ? rows_in / took : 0;

/** The batches that a stream can go back to: those of commits other than its newest. */
export function rewindable(batches: Batch[]): Batch[] {
  const newest = batches[0];
  const seen = new Set([newest?.commit]);
  return batches.filter((one) => {
    if (seen.has(one.commit)) return false;
    seen.add(one.commit);
    return true;
  });
}
