/** What is wrong with a text, at the line that the server names. */
import { type Diagnostic, linter } from "@codemirror/lint";
import type { Extension, Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { ApiError } from "~/api/errors";
import { SPEC } from "../files";

/** The line that a message is about: `spec.yaml:5: …` or `spec.yaml:5:12: …`. */
export function lineOf(message: string): { line: number; text: string } {
  const found = /^([^\s:]+):(\d+)(?::\d+)?: ?/.exec(message);
  return found?.[1] === SPEC
    ? { line: Number(found[2]), text: message.slice(found[0].length) }
    : { line: 1, text: message };
}

export function diagnosticOf(error: ApiError, doc: Text): Diagnostic {
  const { line, text } = lineOf(error.message);
  const { from, to, text: written } = doc.line(Math.min(Math.max(1, line), doc.lines));
  const start = from + (written.length - written.trimStart().length);
  return {
    from: Math.min(start, to),
    to,
    severity: "error",
    message: [text, error.hint].filter(Boolean).join(" "),
  };
}

// Without pictures: the page's policy allows none that are written into a style.
const look = EditorView.theme({
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

/** Underlines the line that the error is about. */
export const problemMark = (error: ApiError | null): Extension => [
  look,
  linter((view) => (error ? [diagnosticOf(error, view.state.doc)] : []), { delay: 0 }),
];
