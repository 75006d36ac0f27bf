import { expect, test } from "vitest";
import { type Change, globs, literal, type RowDiff } from "~/api/compare";
import { cellsOf, schemaChanges, schemaWords } from "./rows";
import { linesOf } from "./tree";

const change = (path: string, kind: Change["change"] = "modified"): Change => ({
  path,
  change: kind,
  old_size: 1,
  new_size: 2,
});
const wanted = { text: "", change: "", flat: false, closed: new Set<string>() };
const CHANGES = [change("/a/b/c.txt", "added"), change("/a/d.txt"), change("/e.txt", "removed")];

test("changed files stand in their folders, each with how many are below it", () => {
  const lines = linesOf(CHANGES, wanted);
  expect(lines.map(({ text, depth, below }) => [text, depth, below])).toEqual([
    ["a/", 0, 2],
    ["b/", 1, 1],
    ["c.txt", 2, 0],
    ["d.txt", 1, 0],
    ["e.txt", 0, 0],
  ]);
});

test("a closed folder hides what is below it, and stays itself", () => {
  const lines = linesOf(CHANGES, { ...wanted, closed: new Set(["/a"]) });
  expect(lines.map((line) => line.text)).toEqual(["a/", "e.txt"]);
  expect(lines[0]?.open).toBe(false);
});

test("a list without folders is filtered by part of the path and by kind", () => {
  const flat = { ...wanted, flat: true };
  expect(linesOf(CHANGES, { ...flat, text: "A/" }).map((line) => line.path)).toEqual([
    "/a/b/c.txt",
    "/a/d.txt",
  ]);
  expect(linesOf(CHANGES, { ...flat, change: "removed" }).map((line) => line.path)).toEqual([
    "/e.txt",
  ]);
});

const DIFF: RowDiff = {
  key: ["id"],
  added: 1,
  removed: 1,
  changed: 1,
  unchanged: 0,
  rows: 2,
  columns: { amount: 1, id: 0 },
  schema: [],
  duplicate_keys: { old: 0, new: 0 },
  samples: [
    {
      change: "changed",
      old: { id: 1, amount: null },
      new: { id: 1, amount: 3 },
      columns: ["amount"],
    },
    { change: "removed", old: { id: 2, amount: 5 }, new: null, columns: [] },
  ],
};

test("changed cells say what they were and are, and only they are marked", () => {
  const { columns, rows, mark } = cellsOf(DIFF);
  expect(columns.slice(1)).toEqual(["id", "amount"]);
  expect(rows).toEqual([
    ["changed", 1, "null → 3"],
    ["removed", 2, 5],
  ]);
  expect([0, 1, 2].map((column) => mark(0, column))).toEqual([undefined, undefined, "changed"]);
  expect(mark(1, 1)).toBe("removed");
  expect(mark(9, 1)).toBeUndefined();
});

test("differences of schemas are told in words", () => {
  const old = [
    { name: "id", type: "int" },
    { name: "gone", type: "string" },
  ];
  const now = [
    { name: "id", type: "bigint" },
    { name: "more", type: "date" },
  ];
  expect(schemaWords(schemaChanges(old, now))).toEqual([
    "id was int and is bigint",
    "more (date) is new",
    "gone (string) is gone",
  ]);
});

test("a choice means one path, whatever characters it has, and the innermost goes first", () => {
  expect(literal("/odd/{a,b}[1]*(?)!.txt")).toBe("/odd/\\{a\\,b\\}\\[1\\]\\*\\(\\?\\)\\!.txt");
  expect(Object.entries(globs({ "/a": "ours", "/a/b*": "theirs" }))).toEqual([
    ["/a/b\\*", "theirs"],
    ["/a", "ours"],
  ]);
});
