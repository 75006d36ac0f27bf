import { expect, test } from "vitest";
import type { RepoName } from "~/api/types";
import { at, job } from "../testing";
import { moved, overall, shapeGrid } from "./shape";

const repo = (name: string): RepoName => ({ project: "default", repo: name });
const edge = (source: string, target: string) => ({ source: repo(source), target: repo(target) });

test("columns are sets, oldest first; rows are pipelines, sources first", () => {
  const jobs = [
    job("b", "zeta", { created: at(20), finished: at(25) }),
    job("b", "alpha", { created: at(20), finished: at(29) }),
    job("a", "alpha", { created: at(10), finished: at(12), state: "failure" }),
  ];
  const grid = shapeGrid(jobs, [edge("orders", "zeta"), edge("zeta", "alpha")], false);
  expect(grid.rows.map((row) => row.repo)).toEqual(["zeta", "alpha"]);
  expect(grid.columns.map((one) => [one.id, one.state, one.seconds])).toEqual([
    ["a", "failure", 2],
    ["b", "success", 9],
  ]);
  expect(grid.columns[0]?.jobs.get("default/zeta")).toBeUndefined();
  expect(grid.columns[1]?.jobs.get("default/zeta")?.id).toBe("b");
});

test("sets of streams alone are left out unless they are asked for", () => {
  const jobs = [
    job("a", "live", { is_stream: true }),
    job("b", "live", { is_stream: true }),
    job("b", "below"),
  ];
  expect(shapeGrid(jobs, [], false).columns.map((one) => one.id)).toEqual(["b"]);
  expect(shapeGrid(jobs, [], true).columns.map((one) => one.id)).toEqual(["a", "b"]);
});

test("a set that runs has no length yet", () => {
  const grid = shapeGrid(
    [job("a", "x"), job("a", "y", { finished: null, state: "running" })],
    [],
    false,
  );
  expect(grid.columns[0]).toMatchObject({ seconds: null, state: "running" });
});

test("pipelines that read each other still have an order", () => {
  const grid = shapeGrid([job("a", "x"), job("a", "y")], [edge("x", "y"), edge("y", "x")], false);
  expect(grid.rows).toHaveLength(2);
});

test("what is worst is said of all", () => {
  expect(overall(["success", "unrunnable", "failure"])).toBe("failure");
  expect(overall(["failure", "running"])).toBe("running");
  expect(overall(["success"])).toBe("success");
});

test("keys move within the grid and its head", () => {
  expect(moved("ArrowUp", [0, 1], 3, 4)).toEqual([-1, 1]);
  expect(moved("ArrowUp", [-1, 1], 3, 4)).toEqual([-1, 1]);
  expect(moved("ArrowRight", [0, 3], 3, 4)).toEqual([0, 3]);
  expect(moved("End", [1, 0], 3, 4)).toEqual([1, 3]);
  expect(moved("a", [1, 0], 3, 4)).toBeUndefined();
});
