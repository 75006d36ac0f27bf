/** Rows that came as texts of JSON objects, as a grid. What is none is a row of one cell. */
export function rowsOf(samples: readonly string[]): { columns: string[]; rows: unknown[][] } {
  const read = samples.map((text): Record<string, unknown> => {
    try {
      const found: unknown = JSON.parse(text);
      if (found && typeof found === "object" && !Array.isArray(found)) {
        return found as Record<string, unknown>;
      }
    } catch {
      // It is shown as it is.
    }
    return { row: text };
  });
  const columns = [...new Set(read.flatMap((row) => Object.keys(row)))];
  return {
    columns,
    rows: read.map((row) => columns.map((name) => (Object.hasOwn(row, name) ? row[name] : null))),
  };
}
