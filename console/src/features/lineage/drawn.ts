/** Lineage as it is drawn and told: boxes with rows, lines between them, and the same as a tree. */
import type { RepoName } from "~/api/types";

export type Kind = "commit" | "file" | "folder" | "code" | "table" | "more" | "hidden";
export type Direction = "both" | "up" | "down";

/** Where a click leads: another thing to tell the lineage of. */
export interface Goal {
  ref: string;
  column?: string;
}

export interface Way {
  to: string;
  text: string;
  kind: "open" | "job" | "code";
}

export interface Row {
  id: string;
  text: string;
  note: string;
  goal?: Goal;
  chosen: boolean;
}

export interface Box {
  id: string;
  kind: Kind;
  title: string;
  detail: string;
  /** All of it, for who points at it. */
  whole: string;
  goal?: Goal;
  /** How many were left out here. */
  more: number;
  ways: Way[];
  rows: Row[];
  root: boolean;
}

export interface Line {
  source: string;
  target: string;
  /** The rows it joins, if boxes have them. */
  from?: string;
  to?: string;
}

export interface Drawn {
  boxes: Box[];
  lines: Line[];
}

/** What a screen reader hears and the keyboard walks along. */
export interface Branch {
  id: string;
  text: string;
  detail: string;
  goal?: Goal;
  more: number;
  below: Branch[];
}

export interface Told {
  up: Branch[];
  down: Branch[];
}

export const WIDTH = 224;
export const HEAD = 58;
export const ROW = 26;

export const heightOf = ({ rows }: Box): number =>
  HEAD + (rows.length > 0 ? rows.length * ROW + 7 : 0);

/** `/a/b/c.csv` as its name and the folder it is in. */
export function parted(path: string): [folder: string, name: string] {
  const at = path.replace(/\/$/, "").lastIndexOf("/");
  return [path.slice(0, at) || "/", path.slice(at + 1)];
}

/** `revenue v1` as the API writes who made a column. */
export function makerOf(text: string, repo: RepoName): { version: string } | null {
  const version = /\sv(\d+)$/.exec(text)?.[1];
  return version && repo.repo ? { version } : null;
}
