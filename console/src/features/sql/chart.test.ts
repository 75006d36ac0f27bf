import * as Plot from "@observablehq/plot";
import { describe, expect, it } from "vitest";
import { type Choice, cell, flaw, KINDS, options, suggested, toData } from "./chart";

const columns = ["day", "shop", "euros"];
const types = ["date", "varchar", "decimal(10,2)"];
const rows = [
  ["2026-01-01", "osaka", "12.50"],
  ["2026-01-02", "berlin", "3.10"],
  ["2026-01-03", "berlin", null],
];

describe("a cell", () => {
  it.each([
    ["9007199254740993", "bigint", 2 ** 53],
    ["NaN", "double", null],
    [null, "varchar", null],
    [true, "boolean", true],
    [["a"], "varchar[]", '["a"]'],
  ])("%j of %s is %j", (value, type, expected) => expect(cell(value, type)).toBe(expected));
  it("of a time is a moment", () =>
    expect(cell("2026-01-01", "date")).toEqual(new Date("2026-01-01")));
});

it("suggests a line over time, else bars, else counts", () => {
  expect(suggested(columns, types)).toMatchObject({ kind: "line", x: "day", y: "euros" });
  expect(suggested(["shop", "n"], ["varchar", "bigint"])).toMatchObject({
    kind: "bar",
    x: "shop",
    y: "n",
  });
  expect(suggested(["shop"], ["varchar"])).toMatchObject({ kind: "bar", aggregate: "count" });
});

describe("a choice", () => {
  const choice: Choice = { kind: "bar", x: "shop", y: "euros", colour: "", aggregate: "sum" };
  it("that can be drawn has no flaw", () => expect(flaw(choice, columns, types)).toBe(""));
  it.each([
    [{ x: "gone" }, 'The result has no column "gone".'],
    [{ y: "shop" }, "y needs numbers; shop is varchar."],
    [{ kind: "histogram" as const }, "A histogram needs numbers or times; shop is varchar."],
    [{ y: "" }, "Choose a column for y, or count rows."],
  ])("%j is explained", (change, said) =>
    expect(flaw({ ...choice, ...change }, columns, types)).toBe(said),
  );
});

it.each(KINDS)("draws a %s", (kind) => {
  const data = toData(columns, types, rows);
  const chart = Plot.plot({
    ...options(
      {
        kind,
        x: kind === "histogram" ? "euros" : "day",
        y: "euros",
        colour: "shop",
        aggregate: "none",
      },
      data,
      Plot,
    ),
    document,
  });
  expect(chart.querySelectorAll("rect, path, circle").length).toBeGreaterThan(0);
});
