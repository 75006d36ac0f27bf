/** Files of code, as the API sends them (base64) and as people edit them (text). */
import type { CodeFile } from "~/api/pipelines";

export interface TextFile {
  path: string;
  /** null of what is no text: it is kept as it is. */
  text: string | null;
  data: string;
}

export const SPEC = "spec.yaml";

export function toText(file: CodeFile): TextFile {
  const bytes = Uint8Array.from(atob(file.data), (one) => one.charCodeAt(0));
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { ...file, text: text.includes("\0") ? null : text };
  } catch {
    return { ...file, text: null };
  }
}

export function toData({ path, text, data }: TextFile): CodeFile {
  if (text === null) return { path, data };
  let bytes = "";
  for (const one of new TextEncoder().encode(text)) bytes += String.fromCharCode(one);
  return { path, data: btoa(bytes) };
}

/** The path in the form that the API wants, or null if it is no name of a file. */
export function pathOf(typed: string): string | null {
  const parts = typed.trim().split("/").filter(Boolean);
  if (parts.length === 0 || parts.some((part) => part === "." || part === "..")) return null;
  return `/${parts.join("/")}`;
}

export interface Changed {
  path: string;
  change: "added" | "removed" | "changed";
  old: string;
  now: string;
}

/** What differs between the files of two versions, by path. */
export function changes(before: TextFile[], after: TextFile[]): Changed[] {
  const [old, now] = [byPath(before), byPath(after)];
  const all = [...new Set([...old.keys(), ...now.keys()])];
  return all
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => ({
      path,
      change: !old.has(path) ? "added" : !now.has(path) ? "removed" : "changed",
      old: old.get(path) ?? "",
      now: now.get(path) ?? "",
    }));
}

const byPath = (files: TextFile[]) =>
  new Map(
    files.map((one) => [
      one.path,
      one.text ?? `(no text: ${one.data.length} characters of base64 ${one.data.slice(0, 40)}…)`,
    ]),
  );

/** Everything of a version: the spec first. */
export const filesOf = (version: { text: string; files: CodeFile[] }): TextFile[] => [
  { path: SPEC, text: version.text, data: "" },
  ...version.files.map(toText),
];
