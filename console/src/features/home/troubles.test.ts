import { describe, expect, it } from "vitest";
import {
  broken,
  changesOf,
  checkWords,
  failed,
  jobsSince,
  late,
  lateWords,
  type Node,
  placeOf,
} from "./troubles";

const node = (repo: string, more: Partial<Node> = {}): Node => ({
  name: { project: "default", repo },
  kind: "pipeline",
  state: "success",
  description: "",
  paused: false,
  version: 1,
  how: "sql",
  schedule: "",
  inputs: [],
  head: null,
  job: null,
  checks: null,
  behind: 0,
  rows_per_second: null,
  late: 0,
  ...more,
});
const job = (state: "failure" | "success" | "unrunnable", id: string): Node["job"] => ({
  id,
  state,
  told_reason: { kind: "nothing", places: [], who: "", what: "", text: "" },
  told_cause: { kind: "nothing", places: [], who: "", what: "", text: "" },
  reason: "",
  cause: "",
  version: 1,
  created: "",
  started: null,
  finished: null,
  processed: 0,
  skipped: 0,
  failed: 0,
  total: 0,
  rows_in: null,
  rows_out: null,
  bytes_in: 0,
  bytes_out: 0,
});
const names = (nodes: Node[]) => nodes.map((one) => one.name.repo);

describe("troubles", () => {
  it("are failures, the newest first and its cause before what it caused", () => {
    const nodes = [
      node("good", { job: job("success", "05") }),
      node("old", { state: "failure", job: job("failure", "01") }),
      node("after", { state: "unrunnable", job: job("unrunnable", "02") }),
      node("paused", { state: "paused", job: job("failure", "02") }),
      node("stream", { kind: "stream", state: "failed" }),
    ];
    expect(names(failed(nodes))).toEqual(["paused", "after", "old", "stream"]);
  });
  it("are delays, with what is known of why", () => {
    const nodes = [node("a", { behind: 1 }), node("b"), node("c", { behind: 3, paused: true })];
    expect(names(late(nodes))).toEqual(["c", "a"]);
    expect(lateWords(nodes[0]!)).toBe("1 input has newer data");
    expect(lateWords(nodes[2]!)).toBe("3 inputs have newer data; it is paused");
    expect(lateWords(node("d", { behind: 1, schedule: "@daily" }))).toContain("schedule");
  });
  it("are rules that were broken", () => {
    const counts = { passed: 4, warned: 1, quarantined: 0, failed: 2 };
    const nodes = [
      node("fine", { checks: { ...counts, warned: 0, failed: 0 } }),
      node("warned", { checks: { ...counts, failed: 0 } }),
      node("bad", { checks: counts }),
    ];
    expect(names(broken(nodes))).toEqual(["bad", "warned"]);
    expect(checkWords(counts)).toBe("2 rules failed, 1 rule warned");
  });
});

it("knows where each is shown", () => {
  expect(placeOf(node("a"))).toBe("/pipelines/default/a");
  expect(placeOf(node("a", { kind: "ingest" }))).toBe("/streams/default/a");
});

it("counts the jobs of a day, or says that there are more", () => {
  const morning = Date.parse("2026-01-02T00:00:00Z");
  const today = { at: "2026-01-02T08:00:00Z", jobs: { success: 2, failure: 1 } };
  const before = { at: "2026-01-01T08:00:00Z", jobs: { success: 9 } };
  expect(jobsSince([today, before], morning, false)).toEqual({ jobs: 3, atLeast: false });
  expect(jobsSince([today], morning, false)).toEqual({ jobs: 3, atLeast: true });
  expect(jobsSince([today], morning, true)).toEqual({ jobs: 3, atLeast: false });
  expect(jobsSince([], morning, true)).toEqual({ jobs: 0, atLeast: false });
});

it("shows the changes up to a moment, without those of streams", () => {
  const set = (id: string, repo: string) => ({
    id,
    at: "",
    origin: [{ project: "default", repo }],
    repos: [],
    message: "",
    author: "",
    jobs: {},
    finished: null,
  });
  const sets = [set("c3", "orders"), set("b2", "live"), set("a1", "orders")];
  const ids = (...hidden: string[]) => changesOf(sets, undefined, new Set(hidden)).map((s) => s.id);
  expect(ids()).toEqual(["c3", "b2", "a1"]);
  expect(ids("default/live")).toEqual(["c3", "a1"]);
  expect(changesOf(sets, "b2", new Set()).map((one) => one.id)).toEqual(["b2", "a1"]);
});
