import { expect, test } from "vitest";
import { changes, pathOf, type TextFile, toData, toText } from "./files";

const file = (path: string, text: string): TextFile => ({ path, text, data: "" });

test("text goes there and back, whatever its letters", () => {
  const data = toData(file("/a.py", "ä → 'x'\n"));
  expect(toText(data).text).toBe("ä → 'x'\n");
});

test("what is no text is kept as it is", () => {
  const image = { path: "/a.png", data: btoa("\x89PNG\0\xff") };
  expect(toText(image).text).toBeNull();
  expect(toData(toText(image))).toEqual(image);
});

test("paths as the API wants them", () => {
  expect(pathOf("lib/a.py")).toBe("/lib/a.py");
  expect(pathOf("/a.py")).toBe("/a.py");
  expect(pathOf("../a.py")).toBeNull();
  expect(pathOf("  ")).toBeNull();
});

test("what differs between two versions", () => {
  const before = [file("spec.yaml", "a"), file("/x.py", "1"), file("/gone.py", "g")];
  const after = [file("spec.yaml", "a"), file("/x.py", "2"), file("/new.py", "n")];
  expect(changes(before, after)).toEqual([
    { path: "/x.py", change: "changed", old: "1", now: "2" },
    { path: "/gone.py", change: "removed", old: "g", now: "" },
    { path: "/new.py", change: "added", old: "", now: "n" },
  ]);
  expect(changes(before, before)).toEqual([]);
});
