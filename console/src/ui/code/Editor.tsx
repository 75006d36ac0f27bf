import {
  autocompletion,
  closeBrackets,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql } from "@codemirror/lang-sql";
import { bracketMatching, foldGutter, indentOnInput } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { type RefObject, useEffect, useRef } from "react";
import type { Language } from "./Code";
import { base, language as languageFor } from "./setup";

export interface EditorProps {
  /** What a screen reader calls it. */
  label: string;
  text: string;
  language?: Language;
  /** Without it the text is only read. */
  onChange?: (text: string) => void;
  /** Ctrl-Enter: what is selected, or all of it. */
  onRun?: (text: string) => void;
  /** More: completions, lints, a language of its own. Keep it stable. */
  extensions?: Extension;
  /** In CSS; else as high as its text, within limits. */
  height?: string;
  /** Filled with what can be done to the editor from outside. */
  control?: RefObject<EditorControl | null>;
}

export interface EditorControl {
  /** Puts text where the cursor is. */
  insert: (text: string) => void;
  focus: () => void;
}

/** An editor. Esc then Tab leaves it, as everywhere with CodeMirror. */
export default function Editor({
  label,
  text,
  language = "text",
  onChange,
  onRun,
  extensions,
  height,
  control,
}: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const extra = useRef(new Compartment());
  const calls = useRef({ onChange, onRun });
  calls.current = { onChange, onRun };
  const readOnly = !onChange;

  // biome-ignore lint/correctness/useExhaustiveDependencies: text and extensions are brought in below
  useEffect(() => {
    const editor = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          base(readOnly),
          lineNumbers(),
          foldGutter(),
          drawSelection(),
          history(),
          search({ top: true }),
          highlightSelectionMatches(),
          indentOnInput(),
          bracketMatching(),
          ...(readOnly
            ? []
            : [closeBrackets(), autocompletion({ icons: false }), highlightActiveLine()]),
          language === "sql" ? sql() : languageFor(language),
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: (now) => {
                  const { from, to } = now.state.selection.main;
                  closeCompletion(now);
                  calls.current.onRun?.(
                    from === to ? now.state.doc.toString() : now.state.sliceDoc(from, to),
                  );
                  return Boolean(calls.current.onRun);
                },
              },
            ]),
          ),
          keymap.of([
            ...completionKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            ...(readOnly ? [] : [indentWithTab]),
          ]),
          EditorView.contentAttributes.of({
            "aria-label": label,
            ...(readOnly ? { tabindex: "0" } : {}),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange?.(update.state.doc.toString());
          }),
          extra.current.of(extensions ?? []),
        ],
      }),
    });
    view.current = editor;
    if (control) {
      control.current = {
        insert: (piece) => {
          editor.dispatch(editor.state.replaceSelection(piece));
          editor.focus();
        },
        focus: () => editor.focus(),
      };
    }
    return () => editor.destroy();
  }, [language, readOnly, label]);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
    }
  }, [text]);
  useEffect(() => {
    view.current?.dispatch({ effects: extra.current.reconfigure(extensions ?? []) });
  }, [extensions]);
  return <div ref={place} style={height ? { height } : { maxHeight: "70vh", overflow: "auto" }} />;
}
