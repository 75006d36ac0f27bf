/** How a file is shown, by its name. */

export type Kind = "rows" | "text" | "json" | "notebook" | "image" | "audio" | "video" | "unknown";

const KINDS: Record<Exclude<Kind, "unknown">, string> = {
  rows: "csv tsv parquet jsonl ndjson orc",
  json: "json geojson webmanifest",
  notebook: "ipynb",
  image: "png jpg jpeg gif webp avif bmp ico svg",
  audio: "mp3 wav ogg oga flac m4a aac opus",
  video: "mp4 webm ogv mov m4v",
  text: "txt md rst log py sql yaml yml toml ini cfg conf sh bash r scala java js ts tsx jsx css html htm xml env lock dockerfile makefile jinja mako",
};

const byEnding = new Map(
  Object.entries(KINDS).flatMap(([kind, endings]) =>
    endings.split(" ").map((ending) => [ending, kind as Kind] as const),
  ),
);

const endingOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return name.slice(name.lastIndexOf(".") + 1);
};

export const kindOf = (path: string): Kind => byEnding.get(endingOf(path)) ?? "unknown";

/** Whether a file of rows can also be read as text. */
export const hasText = (path: string): boolean =>
  ["csv", "tsv", "jsonl", "ndjson"].includes(endingOf(path));

export const isSvg = (path: string): boolean => endingOf(path) === "svg";

/** The text that bytes stand for, or null if they are none. The last character may be cut off. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

/** Bytes as sixteen to a line: where, in hexadecimal, and as characters. */
export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0"));
    const left = hex.slice(0, 8).join(" ");
    const right = hex.slice(8).join(" ");
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "."));
    const where = at.toString(16).padStart(8, "0");
    lines.push(`${where}  ${`${left}  ${right}`.padEnd(48)}  ${text.join("")}`);
  }
  return lines;
}

/** JSON with line breaks, or null if it is none. */
export function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}
