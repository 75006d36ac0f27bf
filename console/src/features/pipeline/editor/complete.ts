/** Completions for a spec: from the JSON Schema, and from what there is in the lake. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { EditorState, type Extension } from "@codemirror/state";
import { placeAt } from "./place";
import { fieldsAt, type Schema, valuesAt } from "./schema";

/** Names that a spec can mean, by the field that takes them. */
export interface Known {
  repos: string[];
  projects: string[];
  pools: string[];
}

export interface Offer {
  from: number;
  options: Completion[];
}

/** What can stand at a position of a text. A pure function: the editor only shows it. */
export function offersAt(
  text: string,
  position: number,
  schema: Schema,
  known: Known,
): Offer | null {
  const place = placeAt(text, position);
  if (!place) return null;
  const { path, top, from } = place;
  const indent = " ".repeat(columnOf(text, from));
  const fields = fieldsAt(schema, path, top);
  if (place.kind === "key" || (place.kind === "value" && place.flow && fields.length > 0)) {
    const bare = !/^[ \t]*:/.test(text.slice(position));
    const below = { value: " ", fields: `\n${indent}  `, items: `\n${indent}  - ` };
    const options = fields
      .filter((field) => !place.present.includes(field.name))
      .map((field) => ({
        label: field.name,
        detail: field.type,
        info: field.about + (field.required ? " Required." : ""),
        type: "property",
        boost: field.required ? 10 : 0,
        apply: bare ? `${field.name}:${place.flow ? " " : below[field.shape]}` : field.name,
      }));
    if (options.length > 0) return { from, options };
  }
  const options = valuesFor(path, valuesAt(schema, path, top), known);
  return options.length > 0 ? { from, options } : null;
}

function columnOf(text: string, from: number): number {
  return from - (text.lastIndexOf("\n", from - 1) + 1);
}

function valuesFor(path: (string | number)[], values: string[], known: Known): Completion[] {
  const options: Completion[] = values.map((label) => ({ label, type: "enum" }));
  const [holder, field] = [path.at(-2), path.at(-1)];
  const names = (list: string[], detail: string) =>
    options.push(...list.map((label) => ({ label, detail, type: "variable" })));
  if (holder === "pfs" && field === "repo") names(known.repos, "repo");
  if (field === "project") names(known.projects, "project");
  if (field === "pool" && path.length === 1) names(known.pools, "pool");
  return options;
}

/** The editor's extension. `known` is asked anew each time: repos come and go. */
export function specCompletion(schema: Schema, known: () => Known): Extension {
  const source = (context: CompletionContext): CompletionResult | null => {
    const found = offersAt(context.state.doc.toString(), context.pos, schema, known());
    if (!found || (found.from === context.pos && !context.explicit)) return null;
    return { ...found, validFor: /^[\w./$@-]*$/ };
  };
  return EditorState.languageData.of(() => [{ autocomplete: source }]);
}
