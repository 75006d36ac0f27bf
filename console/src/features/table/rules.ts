/** What became of the rules of a pipeline, job by job. */
import type { CheckRecord } from "~/api/types";

export interface RuleHistory {
  name: string;
  /** Oldest first. */
  records: CheckRecord[];
  last: CheckRecord;
}

/** The rules of one table, each with its jobs up to a moment. Those of the newest job come first. */
export function rulesOf(records: CheckRecord[], path: string, until?: string): RuleHistory[] {
  const table = path.replace(/^\//, "");
  const rules = new Map<string, CheckRecord[]>();
  for (const one of records) {
    if ((one.result.table ?? "").replace(/^\//, "") !== table) continue;
    // IDs of jobs begin with their time.
    if (until && one.job > until) continue;
    const found = rules.get(one.result.name) ?? [];
    rules.set(one.result.name, [...found, one]);
  }
  return [...rules].map(([name, newest]) => ({
    name,
    records: newest.toReversed(),
    last: newest[0]!,
  }));
}

export interface Sample {
  columns: string[];
  rows: unknown[][];
}

/** Rows that broke a rule, as they were kept: JSON objects; what is none stands in one column. */
export function sampleOf(samples: string[]): Sample {
  const rows = samples.map((text): Record<string, unknown> => {
    try {
      const found: unknown = JSON.parse(text);
      if (found && typeof found === "object" && !Array.isArray(found)) {
        return found as Record<string, unknown>;
      }
    } catch {
      // A row that was cut off is shown as it is.
    }
    return { row: text };
  });
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return {
    columns,
    rows: rows.map((row) =>
      // A column may be called as what every object has.
      columns.map((name) => (Object.hasOwn(row, name) ? row[name] : undefined)),
    ),
  };
}
