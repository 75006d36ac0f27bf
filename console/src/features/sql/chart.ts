/** From rows and a few choices to what Plot draws. */
import type * as Plot from "@observablehq/plot";

export const KINDS = ["bar", "line", "scatter", "histogram"] as const;
export const AGGREGATES = ["none", "sum", "mean", "count", "min", "max"] as const;
export type Kind = (typeof KINDS)[number];
export type Aggregate = (typeof AGGREGATES)[number];

export interface Choice {
  kind: Kind;
  x: string;
  y: string;
  colour: string;
  aggregate: Aggregate;
}

export type Cell = number | string | boolean | Date | null;
export type Datum = Record<string, Cell>;

const NUMBER =
  /^(u?tinyint|u?smallint|u?int|u?integer|u?bigint|u?hugeint|long|short|byte|float|double|real|decimal)/i;
const TIME = /^(date|timestamp)/i;

export const isNumber = (type: string): boolean => NUMBER.test(type);
export const isTime = (type: string): boolean => TIME.test(type);

/** A cell as something that can be placed on a scale. Big numbers and decimals come as text. */
export function cell(value: unknown, type: string): Cell {
  if (value === null || value === undefined) return null;
  if (isNumber(type)) {
    const found = Number(value);
    return Number.isFinite(found) ? found : null;
  }
  if (isTime(type)) {
    const found = new Date(String(value));
    return Number.isNaN(found.getTime()) ? null : found;
  }
  if (typeof value === "boolean" || typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function toData(columns: string[], types: string[], rows: unknown[][]): Datum[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map((name, n) => [name, cell(row[n], types[n] ?? "")])),
  );
}

/** What somebody would probably draw: first thing that names, first thing that counts. */
export function suggested(columns: string[], types: string[]): Choice {
  const find = (wanted: (type: string) => boolean, not = "") =>
    columns.find((name, n) => name !== not && wanted(types[n] ?? "")) ?? "";
  const time = find(isTime);
  const x = time || find((type) => !isNumber(type)) || columns[0] || "";
  const y = find(isNumber, x);
  if (!y) return { kind: "bar", x, y: "", colour: "", aggregate: "count" };
  return { kind: time ? "line" : "bar", x, y, colour: "", aggregate: time ? "none" : "sum" };
}

/** Why it cannot be drawn, or nothing. */
export function flaw(choice: Choice, columns: string[], types: string[]): string {
  const type = (name: string) => types[columns.indexOf(name)] ?? "";
  for (const name of [choice.x, choice.y, choice.colour]) {
    if (name && !columns.includes(name)) return `The result has no column "${name}".`;
  }
  if (!choice.x) return "Choose a column for x.";
  if (choice.kind === "histogram") {
    return isNumber(type(choice.x)) || isTime(type(choice.x))
      ? ""
      : `A histogram needs numbers or times; ${choice.x} is ${type(choice.x)}.`;
  }
  if (choice.aggregate === "count") return "";
  if (!choice.y) return "Choose a column for y, or count rows.";
  if (!isNumber(type(choice.y))) return `y needs numbers; ${choice.y} is ${type(choice.y)}.`;
  return "";
}

export function options(choice: Choice, data: Datum[], plot: typeof Plot): Plot.PlotOptions {
  const { kind, x, y, colour, aggregate } = choice;
  const tint = colour || undefined;
  const shared = { grid: true, marginLeft: 60, color: { legend: Boolean(tint) } };
  if (kind === "histogram") {
    const bins = plot.binX({ y: "count" }, { x, fill: tint ?? "var(--accent)" } as never);
    return { ...shared, marks: [plot.rectY(data, bins), plot.ruleY([0])] };
  }
  const reducer = aggregate === "none" ? undefined : aggregate === "count" ? "count" : aggregate;
  const channels = { x, ...(aggregate === "count" ? {} : { y }) };
  if (kind === "bar") {
    const fill = { ...channels, fill: tint ?? "var(--accent)" };
    const bars = reducer ? plot.groupX({ y: reducer }, fill as never) : fill;
    return {
      ...shared,
      marginBottom: 60,
      x: { type: "band", tickRotate: -30 },
      marks: [plot.barY(data, bars as never), plot.ruleY([0])],
    };
  }
  const stroke = { ...channels, stroke: tint ?? "var(--accent)" };
  const grouped = reducer ? plot.groupX({ y: reducer }, stroke as never) : stroke;
  if (kind === "line") {
    const sorted = { ...(grouped as object), sort: x, marker: data.length < 60 };
    return { ...shared, marks: [plot.lineY(data, sorted as never)] };
  }
  return {
    ...shared,
    marks: [plot.dot(data, { ...(grouped as object), r: 3, tip: data.length < 2000 } as never)],
  };
}
