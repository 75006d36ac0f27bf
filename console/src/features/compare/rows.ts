/** Rows that differ, as a grid shows them: each with what became of it, changed cells as `old → new`. */
import type { RowDiff, RowSample } from "~/api/compare";
import { cellText, type Mark } from "~/ui/DataGrid";

export const CHANGE = "what happened";

export interface Cells {
  columns: string[];
  rows: unknown[][];
  mark: (row: number, column: number) => Mark;
}

function cellOf(sample: RowSample, name: string): unknown {
  const { old, new: now, columns } = sample;
  if (columns.includes(name)) return `${cellText(old?.[name])} → ${cellText(now?.[name])}`;
  return (now ?? old)?.[name];
}

/** Columns of the key first: they say which row it is. */
export function cellsOf({
  key,
  columns,
  samples,
}: Pick<RowDiff, "key" | "columns" | "samples">): Cells {
  const rest = Object.keys(columns).filter((name) => !key.includes(name));
  const names = [...key, ...rest];
  return {
    columns: [CHANGE, ...names],
    rows: samples.map((one) => [one.change, ...names.map((name) => cellOf(one, name))]),
    mark: (row, column) => {
      const sample = samples[row];
      if (!sample) return undefined;
      if (sample.change !== "changed") return sample.change;
      return column > 0 && sample.columns.includes(names[column - 1] ?? "") ? "changed" : undefined;
    },
  };
}

/** A difference of two schemas in words. */
export function schemaWords(schema: RowDiff["schema"]): string[] {
  return schema.map(({ name, old, new: now }) => {
    if (old === null) return `${name} (${now}) is new`;
    if (now === null) return `${name} (${old}) is gone`;
    return `${name} was ${old} and is ${now}`;
  });
}

interface Named {
  name: string;
  type: string;
}

/** How the columns of two tables differ, in the order of the new one. */
export function schemaChanges(old: Named[], now: Named[]): RowDiff["schema"] {
  const before = new Map(old.map((one) => [one.name, one.type]));
  const after = new Map(now.map((one) => [one.name, one.type]));
  return [...new Set([...after.keys(), ...before.keys()])]
    .map((name) => ({ name, old: before.get(name) ?? null, new: after.get(name) ?? null }))
    .filter((one) => one.old !== one.new);
}
