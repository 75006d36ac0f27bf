/** What editor and comparison share: looks, languages, and the page's nonce for their styles. */
import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { nonce } from "~/lib/nonce";
import type { Language } from "./Code";

const looks = HighlightStyle.define([
  { tag: [t.keyword, t.operatorKeyword, t.modifier], color: "var(--stream)", fontWeight: "550" },
  { tag: [t.string, t.special(t.string)], color: "var(--good)" },
  { tag: [t.number, t.bool, t.null], color: "var(--busy)" },
  { tag: [t.comment, t.meta], color: "var(--text-3)", fontStyle: "italic" },
  { tag: [t.propertyName, t.definition(t.propertyName), t.labelName], color: "var(--accent)" },
  {
    tag: [t.function(t.variableName), t.definition(t.variableName), t.className],
    color: "var(--busy)",
  },
  { tag: t.typeName, color: "var(--wait)" },
  { tag: t.invalid, color: "var(--bad)" },
]);

const frame = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    height: "100%",
    fontSize: "13px",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface-2)",
    color: "var(--text-3)",
    border: "none",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": {
    backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    {
      backgroundColor: "var(--accent-soft)",
    },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "var(--shadow-high)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-3)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--text)" },
});

export const language = (name: Language): Extension => {
  if (name === "python") return python();
  if (name === "yaml") return yaml();
  if (name === "json") return json();
  return [];
};

export const base = (readOnly: boolean): Extension => [
  EditorView.cspNonce.of(nonce),
  frame,
  syntaxHighlighting(looks),
  EditorState.readOnly.of(readOnly),
];
