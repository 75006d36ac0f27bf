import { expect, test } from "vitest";
import { at, job } from "../testing";
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
