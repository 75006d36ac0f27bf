import { describe, expect, it } from "vitest";
import { type Knot, lanes, widest } from "./lanes";

const knot = (id: string, parent: string | null = null, ...merged: string[]): Knot => ({
  id,
  parent,
  merged,
});

describe("lanes", () => {
  it("puts a straight history into one lane", () => {
    const rows = lanes([knot("c", "b"), knot("b", "a"), knot("a")]);
    expect(rows.map((row) => row.lane)).toEqual([0, 0, 0]);
    expect(rows[0]).toMatchObject({ above: [], below: [{ from: 0, to: 0 }] });
    expect(rows[2]).toMatchObject({ above: [{ from: 0, to: 0 }], below: [] });
    expect(widest(rows)).toBe(1);
  });

  it("draws a merge and where its branch began", () => {
    const rows = lanes([
      knot("merge", "main2", "side"),
      knot("main2", "root"),
      knot("side", "root"),
      knot("root"),
    ]);
    expect(rows.map((row) => row.lane)).toEqual([0, 0, 1, 0]);
    expect(rows[0]!.below.map(({ from, to }) => [from, to])).toEqual([
      [0, 0],
      [0, 1],
    ]);
    // The side's line goes past main2, and ends where main's already waits for the root.
    expect(rows[1]!.above).toContainEqual({ from: 1, to: 1, color: 1 });
    expect(rows[2]!.below.map(({ from, to }) => [from, to])).toEqual([
      [0, 0],
      [1, 0],
    ]);
    expect(rows[3]!.above.map(({ from, to }) => [from, to])).toEqual([[0, 0]]);
    expect(widest(rows)).toBe(2);
  });

  it("begins a new lane for each head, and uses those again that are free", () => {
    const rows = lanes([
      knot("x2", "x1"),
      knot("y", "x1"),
      knot("x1", "x0"),
      knot("z", "x0"),
      knot("x0"),
    ]);
    expect(rows.map((row) => row.lane)).toEqual([0, 1, 0, 1, 0]);
    expect(widest(rows)).toBe(2);
  });

  it("leads lines on to what is not loaded yet", () => {
    const rows = lanes([knot("b", "a"), knot("d", "c")]);
    expect(rows[1]!.above).toEqual([{ from: 0, to: 0, color: 0 }]);
    expect(rows[1]!.below.map(({ from, to }) => [from, to])).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it("keeps every line whole between rows", () => {
    const commits = Array.from({ length: 60 }, (_, n) =>
      knot(
        `${n}`,
        n < 58 ? `${n + 1 + (n % 2)}` : null,
        ...(n % 5 === 0 && n < 50 ? [`${n + 7}`] : []),
      ),
    );
    const rows = lanes(commits);
    for (const [n, row] of rows.slice(0, -1).entries()) {
      const out = [...new Set(row.below.map((line) => line.to))].sort();
      const into = rows[n + 1]!.above.map((line) => line.from).sort();
      expect(into).toEqual(out);
    }
    expect(lanes([])).toEqual([]);
  });
});
