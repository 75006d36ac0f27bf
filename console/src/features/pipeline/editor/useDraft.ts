/** What is being written: spec and files, whether it was changed, and what the server says of it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { key } from "~/api/keys";
import { type CodeFile, readSpec } from "~/api/pipelines";
import { useSettled } from "~/lib/useSettled";
import { type TextFile, toData, toText } from "../files";

export interface Start {
  text: string;
  files: CodeFile[];
}

const PAUSE = 500;

export function useDraft(start: Start, project: string) {
  const [saved, setSaved] = useState(start);
  const [text, setText] = useState(start.text);
  const [files, setFiles] = useState<TextFile[]>(() => start.files.map(toText));
  const code = useMemo(() => files.map(toData), [files]);
  const draft = useMemo<Start>(() => ({ text, files: code }), [text, code]);
  const settled = useSettled(draft, PAUSE);
  const read = useQuery({
    queryKey: key("fixed", null, "read", project, settled),
    queryFn: () => readSpec(settled.text, settled.files, project),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return {
    text,
    setText,
    files,
    setFile: (path: string, now: string) =>
      setFiles((all) => all.map((one) => (one.path === path ? { ...one, text: now } : one))),
    addFile: (path: string) => setFiles((all) => [...all, { path, text: "", data: "" }]),
    removeFile: (path: string) => setFiles((all) => all.filter((one) => one.path !== path)),
    /** Changes with every letter: what was planned is of one of these. */
    draft,
    dirty: JSON.stringify(draft) !== JSON.stringify(saved),
    keep: () => setSaved(draft),
    /** What is wrong with it, as of the last pause. */
    error: read.error,
    checking: read.isFetching || settled !== draft,
  };
}

export type Draft = ReturnType<typeof useDraft>;
