import { expect, test } from "vitest";
import type { Hit } from "~/api/search";
import { byKind, LOOKS, lineOf } from "./hits";

const hit = (kind: string, more: Partial<Hit> = {}): Hit => ({
  kind,
  repo: { project: "default", repo: "a b" },
  text: "x",
  detail: "",
  commit: null,
  path: null,
  column: null,
  ...more,
});
const ID = "01a1e09aed927f36979e93b9716cfd11";

test.each([
  [hit("repo"), "/repos/default/a%20b"],
  [hit("pipeline"), "/pipelines/default/a%20b"],
  [hit("stream"), "/streams/default/a%20b"],
  [hit("ingest"), "/streams/default/a%20b"],
  [hit("branch", { text: "dev&x" }), "/repos/default/a%20b?at=dev%26x"],
  [hit("tag", { text: "v1" }), "/repos/default/a%20b?at=v1"],
  [hit("commit", { commit: ID }), `/repos/default/a%20b?tab=history&commit=${ID}`],
  [hit("job", { commit: ID }), `/jobs/default/a%20b/${ID}`],
  [hit("table", { path: "/" }), "/tables/default/a%20b"],
  [hit("table", { path: "/items" }), "/tables/default/a%20b?path=%2Fitems"],
  [
    hit("column", { path: "/items", column: "n" }),
    "/tables/default/a%20b?path=%2Fitems&tab=schema&column=n",
  ],
  [hit("file", { path: "/d/a.csv" }), "/repos/default/a%20b?path=%2Fd%2Fa.csv"],
])("a $kind leads to its screen", (found, to) => {
  expect(LOOKS[found.kind]?.to(found)).toBe(to);
});

test("lines say where things are, and shorten IDs", () => {
  expect(lineOf(hit("repo", { text: "orders", detail: "Sales" }))).toEqual({
    text: "orders",
    where: "Sales",
  });
  expect(lineOf(hit("job", { text: ID, detail: "failure" }))).toEqual({
    text: "01a1e09aed92",
    where: "a b · failure",
  });
});

test("kinds stand together, the best first; unknown ones are left out", () => {
  const groups = byKind([hit("file"), hit("repo"), hit("moon"), hit("file", { text: "y" })]);
  expect(groups.map(([kind, hits]) => [kind, hits.length])).toEqual([
    ["file", 2],
    ["repo", 1],
  ]);
});
