import { sql } from "@codemirror/lang-sql";
import { MergeView } from "@codemirror/merge";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import type { Language } from "./Code";
import { base, language as languageFor } from "./setup";

export interface DiffProps {
  old: string;
  new: string;
  language?: Language;
  /** What the two sides are, for screen readers. */
  labels?: [old: string, now: string];
}

/** Two texts side by side, with what differs marked. */
export default function Diff({
  old,
  new: now,
  language = "text",
  labels = ["before", "after"],
}: DiffProps) {
  const place = useRef<HTMLDivElement>(null);
  const [before, after] = labels;
  useEffect(() => {
    const side = (text: string, label: string) => ({
      doc: text,
      extensions: [
        base(true),
        lineNumbers(),
        // Halves are narrow, and do not scroll by themselves.
        EditorView.lineWrapping,
        language === "sql" ? sql() : languageFor(language),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      ],
    });
    const view = new MergeView({
      parent: place.current!,
      a: side(old, before),
      b: side(now, after),
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
    return () => view.destroy();
  }, [old, now, language, before, after]);
  return <div ref={place} style={{ maxHeight: "70vh", overflow: "auto" }} />;
}
