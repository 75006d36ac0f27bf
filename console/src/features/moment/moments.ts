/** The commit sets as moments on a line: the oldest at 0, now at the end. */
import type { Schema } from "~/api/types";
import { briefly } from "~/lib/format";
import { shown } from "~/lib/names";

export type SetSummary = Schema<"SetSummary">;
export type Outcome = "good" | "bad" | "busy" | "calm";

const BAD = ["failure", "unrunnable", "killed"];

export function outcomeOf({ jobs, finished }: Pick<SetSummary, "jobs" | "finished">): Outcome {
  const states = Object.keys(jobs).filter((state) => jobs[state]);
  if (states.some((state) => BAD.includes(state))) return "bad";
  if (!finished) return "busy";
  return states.includes("success") ? "good" : "calm";
}

/** "orders: The third day" */
export function titleOf({ origin, message }: Pick<SetSummary, "origin" | "message">): string {
  const [first, ...others] = origin.map(shown);
  const where = others.length > 0 ? `${first} and ${others.length} more` : (first ?? "");
  return [where, message || "no message"].filter(Boolean).join(": ");
}

export const spoken = (set: SetSummary | undefined): string =>
  set ? `${briefly(set.at)}, ${titleOf(set)}` : "Now";

/** The place of a moment on the line of `sets`; the end for now, -1 if it is not among them. */
export function placeOf(moment: string | undefined, sets: SetSummary[]): number {
  return moment ? sets.findIndex((set) => set.id.startsWith(moment)) : sets.length;
}

export interface Tick {
  first: number;
  count: number;
  outcome: Outcome;
}

const WORST: Outcome[] = ["calm", "good", "busy", "bad"];

/** One tick for each set, or for several if they would not fit: as bad as the worst of them. */
export function ticksOf(sets: SetSummary[], most: number): Tick[] {
  const size = Math.max(1, Math.ceil(sets.length / most));
  const ticks: Tick[] = [];
  for (let first = 0; first < sets.length; first += size) {
    const some = sets.slice(first, first + size);
    const worst = Math.max(...some.map((set) => WORST.indexOf(outcomeOf(set))));
    ticks.push({ first, count: some.length, outcome: WORST[worst] ?? "calm" });
  }
  return ticks;
}
