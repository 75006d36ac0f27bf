/** What the states of an environment mean, in words. */
import type {
  BranchState,
  EnvironmentReport,
  EnvironmentStatus,
  PipelineState,
  RepoDelta,
  TableDelta,
} from "~/api/environments";
import { bytes, count, plural } from "~/lib/format";
import { shown } from "~/lib/names";

export function codeWords(state: PipelineState["state"], base: string): string {
  return {
    same: `as in ${base}`,
    new: "new here",
    changed: "changed here",
    deleted: "deleted here",
    behind: `newer in ${base}`,
    conflict: `changed here and in ${base}`,
  }[state];
}

export function dataWords({ state, ahead, behind }: BranchState, base: string): string {
  return {
    same: `as in ${base}`,
    ahead: `${plural(ahead, "commit")} ahead`,
    behind: `${plural(behind, "commit")} behind`,
    diverged: `${plural(ahead, "commit")} ahead, ${count(behind)} behind`,
  }[state];
}

const OWN_CODE = ["new", "changed", "deleted", "conflict"];
const OWN_DATA = ["ahead", "diverged"];

/** Whether it has what its base has not: then a merge brings something, and deleting it loses it. */
export const hasOwn = ({ pipelines, branches }: EnvironmentStatus): boolean =>
  pipelines.some((one) => OWN_CODE.includes(one.state)) ||
  branches.some((one) => one.kind === "user" && OWN_DATA.includes(one.state));

/** Whether its base has what it has not: then a sync brings something. */
export const isBehind = ({ pipelines, branches }: EnvironmentStatus): boolean =>
  pipelines.some((one) => one.state === "behind" || one.state === "conflict") ||
  branches.some((one) => one.behind > 0);

/** In a line: how far it is from its base. */
export function summary(status: EnvironmentStatus): string {
  const { base } = status.environment;
  const code = status.pipelines.filter((one) => one.state !== "same").length;
  const data = status.branches.filter((one) => one.state !== "same").length;
  if (code + data === 0) return `All is as in ${base}.`;
  const parts = [
    ...(code > 0 ? [plural(code, "pipeline")] : []),
    ...(data > 0 ? [`the data of ${plural(data, "repo")}`] : []),
  ];
  return `Not as in ${base}: ${parts.join(" and ")}.`;
}

const numbers = (all: [number, string][]): string =>
  all
    .filter(([n]) => n > 0)
    .map(([n, what]) => `${count(n)} ${what}`)
    .join(", ");

export function filesWords({ added, removed, modified, bytes: grown }: RepoDelta): string {
  const files = numbers([
    [added, "added"],
    [removed, "removed"],
    [modified, "changed"],
  ]);
  return `Files: ${files || "none"} (${grown < 0 ? "−" : "+"}${bytes(Math.abs(grown))})`;
}

export function rowsWords({ added, removed, changed, rows }: TableDelta): string {
  const all = numbers([
    [added, "added"],
    [removed, "removed"],
    [changed, "changed"],
  ]);
  const of = rows === null || rows === undefined ? "" : ` of ${plural(rows, "row")}`;
  return `Rows: ${all || "none differs"}${of}`;
}

/** What was done, in a sentence. */
export function doneWords({ action, environment, published, started }: EnvironmentReport): string {
  const what =
    action === "merge"
      ? `Merged ${environment.name} into ${environment.base}`
      : `Synced ${environment.name} with ${environment.base}`;
  const waiting = started > 0 ? `${plural(started, "job")} waiting` : "nothing computed";
  return `${what}: ${plural(published, "output")} taken over, ${waiting}.`;
}

export const stepWords = ({ what, name, action, detail }: EnvironmentReport["steps"][0]): string =>
  `${action} ${what} ${shown(name)}${detail ? `: ${detail}` : ""}`;

export type Mark = "added" | "removed" | "place" | "";

/** What a line of a unified diff is. */
export function markOf(line: string): Mark {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return "";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "";
}
