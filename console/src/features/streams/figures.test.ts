import { describe, expect, it } from "vitest";
import type { Batch } from "~/api/types";
import { batchesInWords } from "./BatchCharts";
import { batchText, lagOf, lagText, offsetsText, rewindable, speedOf } from "./figures";
import { sendCommand } from "./SendRows";

const ID = "01a1e09aed927f36979e93b9716cfd11";
const repo = { project: "default", repo: "clicks" };
const batch = (number: number, commit: string, more: Partial<Batch> = {}): Batch => ({
  commit,
  epoch: 1,
  first: number,
  number,
  start: {},
  end: {},
  rows_in: 0,
  rows_out: 0,
  late: 0,
  malformed: 0,
  state_rows: 0,
  state_bytes: 0,
  seconds: 0,
  ...more,
});

describe("the lag of a stream", () => {
  const input = (commits: number, seconds: number) => ({
    name: "clicks",
    repo,
    branch: "main",
    read: null,
    commits,
    seconds,
  });

  it("is that of the input it is furthest behind", () => {
    expect(lagOf([input(2, 30), input(1, 90)])).toEqual({ commits: 2, seconds: 90 });
    expect(lagOf([])).toEqual({ commits: 0, seconds: 0 });
  });

  it("is told in commits and time", () => {
    expect(lagText({ commits: 0, seconds: 0 })).toBe("none");
    expect(lagText({ commits: 1, seconds: 90 })).toBe("1 commit, 1 min 30 s");
  });
});

describe("a batch", () => {
  it("tells what it read, from where to where", () => {
    expect(offsetsText({ start: {}, end: { clicks: ID } })).toBe(
      "clicks: the beginning → 01a1e09aed92",
    );
    expect(offsetsText({ start: { files: 4 }, end: { files: 6 } })).toBe("files: 4 → 6");
    expect(offsetsText({ start: { a: ID }, end: { a: ID } })).toBe("a: 01a1e09aed92");
  });

  it("may stand for several", () => {
    expect(batchText(batch(5, "c"))).toBe("5");
    expect(batchText(batch(60, "c", { first: 40 }))).toBe("40–60");
  });

  it("has a speed, also when it took no time", () => {
    expect(speedOf(batch(1, "c", { rows_in: 10, seconds: 2 }))).toBe(5);
    expect(speedOf(batch(1, "c", { rows_in: 10 }))).toBe(0);
  });
});

describe("a stream", () => {
  it("goes back to commits other than its newest, each once", () => {
    const all = [batch(3, "c"), batch(2, "b"), batch(2, "b", { epoch: 0 }), batch(1, "a")];
    expect(rewindable(all).map((one) => one.commit)).toEqual(["b", "a"]);
    expect(rewindable([])).toEqual([]);
  });

  it("is told in words", () => {
    expect(batchesInWords("Late rows", [3, 1], String)).toBe(
      "Late rows over 2 batches: last 1, most 3.",
    );
  });
});

describe("the command that sends rows", () => {
  it("cannot be left by a name", () => {
    const command = sendCommand({ project: "a b", repo: "$(reboot);`x`" }, "http://lake");
    expect(command.split("\n").at(-1)).toBe(
      "  'http://lake/api/v1/ingests/a%20b/%24(reboot)%3B%60x%60/events'",
    );
  });
});
