import { expect, test } from "vitest";
import { at, job } from "../testing";
import { outcome } from "./Deliveries";
import { jobBefore } from "./Inputs";

test("what was new, was new since the last job that went well", () => {
  const now = job("d", "x", { created: at(40) });
  const jobs = [
    job("e", "x", { created: at(50) }),
    now,
    job("c", "x", { created: at(30), state: "failure" }),
    job("b", "x", { created: at(20) }),
    job("a", "x", { created: at(10) }),
    job("z", "x", { created: at(35), branch: "backfill-1" }),
  ];
  expect(jobBefore(now, jobs)?.id).toBe("b");
  expect(jobBefore(jobs.at(-2)!, jobs)).toBeUndefined();
});

test("a delivery says what went out, or why it did not", () => {
  const one = {
    pipeline: { project: "default", repo: "report" },
    commit: "01",
    target: "sql",
    kind: "sql",
    state: "done" as const,
    reason: "",
    attempt: 1,
    created: "2026-01-01T00:00:00Z",
  };
  expect(outcome({ ...one, receipt: { note: "merged 3 rows" } })).toBe("merged 3 rows");
  expect(outcome({ ...one, state: "failed", reason: "no answer" })).toBe("no answer");
  expect(outcome(one)).toBe("");
});
