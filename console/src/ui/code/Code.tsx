/** Code to read, to edit and to compare. The editor is loaded when it is first needed. */
import { lazy, Suspense } from "react";
import { Loading } from "../Messages";
import type { DiffProps } from "./Diff";
import type { EditorProps } from "./Editor";

const LazyEditor = lazy(() => import("./Editor"));
const LazyDiff = lazy(() => import("./Diff"));

export type Language = "sql" | "python" | "yaml" | "json" | "text";

/** The language of a file by its name. */
export function languageOf(path: string): Language {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  if (ending === "py") return "python";
  if (ending === "sql") return "sql";
  if (ending === "yaml" || ending === "yml") return "yaml";
  if (["json", "ipynb", "jsonl", "ndjson", "jsonnet"].includes(ending)) return "json";
  return "text";
}

export function Code(props: EditorProps) {
  return (
    <Suspense fallback={<Loading what="Loading the editor" />}>
      <LazyEditor {...props} />
    </Suspense>
  );
}

export function CodeDiff(props: DiffProps) {
  return (
    <Suspense fallback={<Loading what="Loading the comparison" />}>
      <LazyDiff {...props} />
    </Suspense>
  );
}
