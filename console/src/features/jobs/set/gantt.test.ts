import { expect, test } from "vitest";
import type { Job } from "~/api/types";
import { at, job } from "../testing";
import { criticalPath, gantt, tickStep, ticks } from "./gantt";

const reads = (...repos: string[]): Partial<Job> => ({
  inputs: repos.map((repo) => ({
    name: repo,
    repo: { project: "default", repo },
    branch: "main",
    commit: "s",
  })),
});

const clean = job("s", "clean", { created: at(0), started: at(2), finished: at(4) });
const goods = job("s", "goods", { created: at(0), started: at(1), finished: at(2) });
const report = job("s", "report", {
  created: at(0),
  started: at(5),
  finished: at(10),
  ...reads("clean", "goods", "elsewhere"),
});

test("waiting for inputs, for a worker, and working are told apart", () => {
  const drawn = gantt([clean, goods, report], 0);
  expect(drawn.seconds).toBe(10);
  const last = drawn.lines[2]!;
  expect(last.inputs).toEqual({ from: 0, to: 0.4 });
  expect(last.queue).toEqual({ from: 0.4, to: 0.5 });
  expect(last.work).toEqual({ from: 0.5, to: 1 });
  expect(drawn.lines[0]?.queue).toEqual({ from: 0, to: 0.2 });
});

test("what runs goes on until now, what never ran has no work", () => {
  const now = Date.parse(at(20));
  const running = { ...report, finished: null, state: "running" as const };
  expect(gantt([clean, running], now).lines[1]?.work).toEqual({ from: 0.25, to: 1 });
  const never = job("s", "x", { created: at(0), started: null, finished: at(10) });
  expect(gantt([never], now).lines[0]?.work).toBeUndefined();
});

test("the critical path is the chain that ended last", () => {
  const path = criticalPath([clean, goods, report], 0);
  expect([...path].map((one) => one.pipeline.repo)).toEqual(["report", "clean"]);
  expect(gantt([clean, goods, report], 0).lines.map((line) => line.critical)).toEqual([
    true,
    false,
    true,
  ]);
  expect(gantt([clean], 0).lines[0]?.critical).toBe(false);
});

test("marks are round and few", () => {
  expect(ticks(10)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(tickStep(0.05)).toBe(0.01);
  expect(tickStep(3600)).toBe(600);
  for (const seconds of [0.001, 0.3, 7, 99, 5000, 1e6, 1e9]) {
    expect(ticks(seconds).length).toBeLessThanOrEqual(8);
    expect(ticks(seconds).at(-1)).toBeLessThanOrEqual(seconds);
  }
});
