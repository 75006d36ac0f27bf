/** A Jupyter notebook as cells of plain text. Anything may stand in the file. */

export interface Cell {
  kind: "code" | "markdown" | "raw";
  number: number | null;
  source: string;
  outputs: { text: string; bad: boolean }[];
}

type Loose = Record<string, unknown>;

const joined = (value: unknown): string =>
  Array.isArray(value)
    ? value.filter((one) => typeof one === "string").join("")
    : typeof value === "string"
      ? value
      : "";

const isLoose = (value: unknown): value is Loose => typeof value === "object" && value !== null;

// Tracebacks are coloured for terminals.
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const COLOURS = /\u001b\[[0-9;]*m/g;

function outputOf(output: unknown): { text: string; bad: boolean } | null {
  if (!isLoose(output)) return null;
  if (output.output_type === "error") {
    const trace = Array.isArray(output.traceback) ? output.traceback.map(joined).join("\n") : "";
    const text = trace || `${joined(output.ename)}: ${joined(output.evalue)}`;
    return { text: text.replace(COLOURS, ""), bad: true };
  }
  const data = isLoose(output.data) ? output.data : {};
  const text = joined(output.text) || joined(data["text/plain"]);
  if (text) return { text: text.replace(COLOURS, ""), bad: output.name === "stderr" };
  const kinds = Object.keys(data);
  return kinds.length > 0 ? { text: `(${kinds.join(", ")})`, bad: false } : null;
}

/** The cells, or null if the text is no notebook. */
export function cellsOf(text: string): Cell[] | null {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isLoose(found) || !Array.isArray(found.cells)) return null;
  return found.cells.filter(isLoose).map((cell) => ({
    kind: cell.cell_type === "code" || cell.cell_type === "markdown" ? cell.cell_type : "raw",
    number: typeof cell.execution_count === "number" ? cell.execution_count : null,
    source: joined(cell.source),
    outputs: (Array.isArray(cell.outputs) ? cell.outputs : [])
      .map(outputOf)
      .filter((one) => one !== null),
  }));
}
