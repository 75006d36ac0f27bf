import { expect, test } from "vitest";
import type { EnvironmentStatus, TableDelta } from "~/api/environments";
import { filesWords, hasOwn, isBehind, markOf, rowsWords, summary } from "./words";

const status = (
  pipelines: EnvironmentStatus["pipelines"][0]["state"][],
  branches: [kind: string, state: "same" | "ahead" | "behind" | "diverged"][] = [],
): EnvironmentStatus => ({
  environment: { project: "default", name: "dev", base: "main", created: "", author: "" },
  pipelines: pipelines.map((state, n) => ({
    name: { project: "default", repo: `p${n}` },
    state,
    version: 2,
    base_version: 1,
  })),
  branches: branches.map(([kind, state], n) => ({
    repo: { project: "default", repo: `r${n}` },
    branch: "dev",
    base: "main",
    kind,
    state,
    ahead: state === "ahead" || state === "diverged" ? 1 : 0,
    behind: state === "behind" || state === "diverged" ? 1 : 0,
  })),
  unfinished: 0,
});

test("what is computed follows from code and inputs, so alone it is nothing to publish", () => {
  expect(hasOwn(status(["same"], [["output", "ahead"]]))).toBe(false);
  expect(hasOwn(status(["same"], [["user", "ahead"]]))).toBe(true);
  expect(hasOwn(status(["deleted"]))).toBe(true);
  expect(hasOwn(status(["behind"]))).toBe(false);
});

test("a sync is for what the base got since", () => {
  expect(isBehind(status(["changed"], [["user", "ahead"]]))).toBe(false);
  expect(isBehind(status(["conflict"]))).toBe(true);
  expect(isBehind(status([], [["output", "behind"]]))).toBe(true);
});

test("a line says how far it is from its base", () => {
  expect(summary(status(["same"], [["user", "same"]]))).toBe("All is as in main.");
  expect(summary(status(["new", "same"]))).toBe("Not as in main: 1 pipeline.");
  expect(
    summary(
      status(
        ["changed"],
        [
          ["user", "ahead"],
          ["output", "ahead"],
        ],
      ),
    ),
  ).toBe("Not as in main: 1 pipeline and the data of 2 repos.");
});

test("numbers that are zero are not told", () => {
  const table = { path: "/", columns: [], key: [], samples: [], error: "" };
  const rows: TableDelta = { ...table, added: 1, removed: 0, changed: 1200, rows: 4000 };
  expect(rowsWords(rows)).toBe("Rows: 1 added, 1,200 changed of 4,000 rows");
  expect(rowsWords({ ...rows, added: 0, changed: 0, rows: null })).toBe("Rows: none differs");
  const repo = status([], [["user", "ahead"]]).branches[0] as NonNullable<
    EnvironmentStatus["branches"][0]
  >;
  const delta = { ...repo, added: 0, removed: 2, modified: 0, bytes: -1500, paths: [], tables: [] };
  expect(filesWords(delta)).toBe("Files: 2 removed (−1.5 kB)");
});

test("names of files in a diff are neither added nor removed", () => {
  const lines = ["--- pipeline.yaml", "+++ pipeline.yaml", "@@ -1 +1 @@", "-a", "+b", " c"];
  expect(lines.map(markOf)).toEqual(["", "", "place", "removed", "added", ""]);
});
