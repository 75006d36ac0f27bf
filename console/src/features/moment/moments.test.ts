import { expect, test } from "vitest";
import { outcomeOf, placeOf, type SetSummary, ticksOf, titleOf } from "./moments";

const set = (id: string, more: Partial<SetSummary> = {}): SetSummary => ({
  id,
  at: "2026-11-15T18:02:00Z",
  origin: [{ project: "default", repo: "orders" }],
  repos: [],
  message: "The third day",
  author: "me",
  jobs: {},
  finished: "2026-11-15T18:03:00Z",
  ...more,
});

test.each([
  [{}, "calm"],
  [{ jobs: { success: 2 } }, "good"],
  [{ jobs: { success: 2, failure: 1 } }, "bad"],
  [{ jobs: { success: 2, failure: 0 } }, "good"],
  [{ jobs: { running: 1 }, finished: null }, "busy"],
  [{ jobs: { running: 1, unrunnable: 1 }, finished: null }, "bad"],
])("the outcome of %o is %s", (more, outcome) => expect(outcomeOf(set("a", more))).toBe(outcome));

test("a title says where it began and what for", () => {
  const lab = { project: "lab", repo: "x" };
  expect(titleOf(set("a"))).toBe("orders: The third day");
  expect(titleOf(set("a", { origin: [lab, lab], message: "" }))).toBe(
    "lab/x and 1 more: no message",
  );
});

test("now is at the end, and an ID may be short", () => {
  const sets = [set("aaa1"), set("bbb2")];
  expect(placeOf(undefined, sets)).toBe(2);
  expect(placeOf("bbb", sets)).toBe(1);
  expect(placeOf("ccc", sets)).toBe(-1);
});

test("many sets share ticks, as bad as the worst of them", () => {
  const sets = Array.from({ length: 10 }, (_, n) =>
    set(`s${n}`, { jobs: n === 5 ? { failure: 1 } : { success: 1 } }),
  );
  expect(ticksOf(sets, 100)).toHaveLength(10);
  expect(ticksOf(sets, 4)).toEqual([
    { first: 0, count: 3, outcome: "good" },
    { first: 3, count: 3, outcome: "bad" },
    { first: 6, count: 3, outcome: "good" },
    { first: 9, count: 1, outcome: "good" },
  ]);
});
