import { expect, test } from "vitest";
import {
  asText,
  cut,
  levelOf,
  lineOfHash,
  matches,
  numbered,
  plain,
  stepped,
  wanted,
} from "./lines";

const line = (text: string, stream = "out", datum = "abc", number = 1) =>
  numbered({ at: "2026-01-01T00:00:00Z", job: "j", pipeline: "p", datum, stream, text }, number);

test.each([
  ["26/01/01 12:00:00 ERROR Executor: Exception in task", "out", "error"],
  ["26/01/01 12:00:00 WARN NativeCodeLoader: no library", "err", "warn"],
  ["WARNING:root:careful", "err", "warn"],
  ["Traceback (most recent call last):", "err", "error"],
  ["ValueError: no such day", "err", "error"],
  ["java.lang.RuntimeException: broken", "err", "error"],
  ["error: file not found", "out", "error"],
  ["level=warn msg=slow", "out", "warn"],
  ["0 errors, no warnings", "out", "out"],
  ["the terror of it", "err", "err"],
  ["datum took 3 s", "note", "note"],
])("the level of %s", (text, stream, level) => {
  expect(levelOf({ text, stream })).toBe(level);
});

test("what only terminals understand is left out", () => {
  expect(plain("\u001b[1;31mred\u001b[0m and \u001b]0;title\u0007plain\u0000\r")).toBe(
    "red and plain",
  );
  expect(plain("a\tb <b>bold</b>")).toBe("a\tb <b>bold</b>");
  expect(line("\u001b[31mERROR\u001b[0m no").level).toBe("error");
});

test("filters by level, stream and datum", () => {
  const error = line("ERROR", "err", "aa11");
  expect(wanted(error, "", "")).toBe(true);
  expect(wanted(error, "warn", "")).toBe(true);
  expect(wanted(error, "error", "aa")).toBe(true);
  expect(wanted(error, "err", "bb")).toBe(false);
  expect(wanted(error, "out", "")).toBe(false);
  expect(wanted(line("WARN"), "error", "")).toBe(false);
});

test("finds lines whatever their capitals", () => {
  const lines = ["one Two", "three", "TWO two"].map((text) => line(text));
  expect(matches(lines, "two")).toEqual([0, 2]);
  expect(matches(lines, "")).toEqual([]);
  expect(matches(lines, "(")).toEqual([]);
});

test("cuts a line at what was found", () => {
  expect(cut("TWO and two", "two")).toEqual(["", "TWO", " and ", "two", ""]);
  expect(cut("none", "two")).toEqual(["none"]);
  expect(cut("İstanbul", "i")).toEqual(["İstanbul"]);
});

test("next and previous go round", () => {
  expect(stepped(2, 1, 3)).toBe(0);
  expect(stepped(0, -1, 3)).toBe(2);
  expect(stepped(0, 1, 0)).toBe(0);
});

test("reads a line's number from an address", () => {
  expect(lineOfHash("#L123")).toBe(123);
  expect(lineOfHash("#L0")).toBeUndefined();
  expect(lineOfHash("#Lx")).toBeUndefined();
});

test("a file has what there is of each line", () => {
  expect(asText([line("hello", "err", "0123456789abcdef")])).toBe(
    "2026-01-01T00:00:00Z 0123456789ab err hello\n",
  );
});
