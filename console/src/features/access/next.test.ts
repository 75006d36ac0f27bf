import { expect, test } from "vitest";
import { safeNext } from "./next";

test.each([
  ["/jobs?state=failure#top", "/jobs?state=failure#top"],
  ["/repos/default/a%20b", "/repos/default/a%20b"],
  ["/", "/"],
])("%s is one of ours", (next, path) => expect(safeNext(next)).toBe(path));

test.each([
  null,
  "",
  "repos",
  "//evil.example",
  "///evil.example",
  "/\\evil.example",
  "/\t/evil.example",
  "/\n\\evil.example",
  "/.//evil.example",
  "/x/..//evil.example",
  "https://evil.example",
  "javascript:alert(1)",
  "\\\\evil.example",
  " //evil.example",
  "/login?next=/login",
])("%j leads home", (next) => expect(safeNext(next)).toBe("/"));
