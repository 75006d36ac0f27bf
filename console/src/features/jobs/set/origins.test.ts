import { expect, test } from "vitest";
import type { Commit } from "~/api/types";
import { job } from "../testing";
import { origins } from "./origins";

const commit = (repo: string, origin: Commit["origin"]): Commit => ({
  id: "s",
  repo: { project: "default", repo },
  branch: "main",
  parent: null,
  message: "",
  author: "",
  started: "2026-01-01T00:00:00Z",
  finished: "2026-01-01T00:00:00Z",
  origin,
  error: null,
  files: 0,
  size: 0,
  merged: [],
  forgotten: null,
});
const reads = (repo: string, commit: string) => [
  { name: repo, repo: { project: "default", repo }, branch: "main", commit },
];
const names = (found: Commit[]) => found.map((one) => one.repo.repo);

test("a set begins with what a person committed", () => {
  const jobs = [job("s", "clean", { inputs: reads("orders", "s") })];
  expect(names(origins([commit("clean", "pipeline"), commit("orders", "user")], jobs))).toEqual([
    "orders",
  ]);
});

test("a set that jobs began, begins with those that read nothing of it", () => {
  const jobs = [
    job("s", "clean", { inputs: reads("orders", "earlier") }),
    job("s", "report", { inputs: reads("clean", "s") }),
  ];
  expect(names(origins([commit("report", "pipeline"), commit("clean", "pipeline")], jobs))).toEqual(
    ["clean"],
  );
});
