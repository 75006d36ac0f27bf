/** Lines of a log: what they are, which are wanted, and where a text is in them. */
import type { LogLine } from "~/api/types";

export type Level = "out" | "err" | "note" | "warn" | "error";

const ERROR =
  /\b(ERROR|FATAL|CRITICAL|SEVERE)\b|\blevel=(error|fatal|critical)\b|^(error|fatal)(\[|:|\b.*:)|^Traceback \(most recent call last\)|^[\w.]*(Error|Exception)(:|$)/;
const WARNING = /\bWARN(ING)?\b|\blevel=warn(ing)?\b|^warn(ing)?:|^[\w.]*Warning:/;
// Colours, moves of the cursor and titles of a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** A line as text: what only a terminal understands is left out. */
export function plain(text: string): string {
  return text.replace(ESCAPES, "").replace(CONTROLS, "");
}

/** What kind of line it is: by what it says, else by where it was printed. */
export function levelOf(line: Pick<LogLine, "stream" | "text">): Level {
  if (ERROR.test(line.text)) return "error";
  if (WARNING.test(line.text)) return "warn";
  return line.stream === "err" || line.stream === "note" ? line.stream : "out";
}

/** A line with its number, which stays whatever is filtered. */
export interface Numbered {
  number: number;
  at: string;
  datum: string;
  text: string;
  stream: string;
  level: Level;
}

export function numbered(line: LogLine, number: number): Numbered {
  const text = plain(line.text);
  const { at, datum, stream } = line;
  return { number, at, datum, text, stream, level: levelOf({ stream, text }) };
}

/** "" is all; "out", "err" and "note" are where it was printed; "warn" has errors too. */
export const SHOWN = ["", "out", "err", "note", "warn", "error"] as const;

export function wanted(line: Numbered, show: string, datum: string): boolean {
  if (datum && !line.datum.startsWith(datum)) return false;
  if (show === "") return true;
  if (show === "error") return line.level === "error";
  if (show === "warn") return line.level === "error" || line.level === "warn";
  return line.stream === show;
}

/** Which of the lines have a text, by their place in the list. Capitals do not matter. */
export function matches(lines: Numbered[], text: string): number[] {
  const needle = text.toLowerCase();
  if (needle === "") return [];
  const found: number[] = [];
  for (let n = 0; n < lines.length; n++) {
    if (lines[n]!.text.toLowerCase().includes(needle)) found.push(n);
  }
  return found;
}

/** A text cut where another is found in it, so that it can be marked: plain, found, plain, … */
export function cut(text: string, find: string): string[] {
  if (find === "") return [text];
  const parts: string[] = [];
  const [low, needle] = [text.toLowerCase(), find.toLowerCase()];
  // Some letters change their length with their case; then places would not be the same.
  if (low.length !== text.length) return [text];
  let from = 0;
  for (let to = low.indexOf(needle); to >= 0; to = low.indexOf(needle, from)) {
    parts.push(text.slice(from, to), text.slice(to, to + needle.length));
    from = to + needle.length;
  }
  return [...parts, text.slice(from)];
}

/** The next or previous of `count` matches, going round. */
export const stepped = (now: number, step: number, count: number): number =>
  count === 0 ? 0 : (((now + step) % count) + count) % count;

/** The line number in `#L12`, if there is one. */
export function lineOfHash(hash: string): number | undefined {
  const found = /^#L([1-9]\d{0,8})$/.exec(hash);
  return found ? Number(found[1]) : undefined;
}

/** A log as a file. */
export const asText = (lines: Numbered[]): string =>
  lines
    .map((line) => `${line.at} ${line.datum.slice(0, 12) || "-"} ${line.stream} ${line.text}\n`)
    .join("");
