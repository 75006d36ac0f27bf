import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Known, offersAt } from "./complete";
import { placeAt } from "./place";
import { fieldsAt, type Schema, valuesAt } from "./schema";

const SCHEMA = JSON.parse(
  readFileSync("../src/trunkline/pipelines/spec/pipeline.schema.json", "utf8"),
) as Schema;
const KNOWN: Known = { repos: ["orders", "clean"], projects: ["default", "shop"], pools: ["big"] };

/** A text with | where the cursor is. */
function cut(text: string): [string, number] {
  const at = text.indexOf("|");
  return [text.slice(0, at) + text.slice(at + 1), at];
}
const place = (text: string) => placeAt(...cut(text));
const offers = (text: string) => {
  const found = offersAt(...cut(text), SCHEMA, KNOWN);
  return found?.options.map((one) => one.label) ?? null;
};
const option = (text: string, label: string) =>
  offersAt(...cut(text), SCHEMA, KNOWN)?.options.find((one) => one.label === label);

describe("the place of the cursor", () => {
  test.each([
    ["|", "key", []],
    ["pip|", "key", []],
    ["pipeline:\n  name: x\ntrans|", "key", []],
    ["transform:\n  sq|\ninput: {}", "key", ["transform"]],
    ["transform:\n  |\ninput: {}", "key", ["transform"]],
    ["transform:\n  mode: to|", "value", ["transform", "mode"]],
    ["transform:\n  mode: |\n  sql: SELECT 1", "value", ["transform", "mode"]],
    ["input:\n  pfs: {repo: or|}", "value", ["input", "pfs", "repo"]],
    ["input:\n  pfs: {repo: orders, gl|}", "key", ["input", "pfs"]],
    ["input:\n  join:\n    - pfs:\n        re|", "key", ["input", "join", 0, "pfs"]],
    [
      "input:\n  join:\n    - pfs: {repo: a}\n    - pfs:\n        repo: |",
      "value",
      ["input", "join", 1, "pfs", "repo"],
    ],
    ["input:\n  union:\n    - p|", "key", ["input", "union", 0]],
    ["pipeline: {name: a}\n---\ntrans|", "key", []],
    ["input:\n  pfs:\n    re|po: orders", "key", ["input", "pfs"]],
  ])("%j", (text, kind, path) => {
    expect(place(text)).toMatchObject({ kind, path });
  });

  test("says what stands beside a name, and what is written of it", () => {
    expect(place("pipeline: {name: x}\ninput:\n  pfs:\n    repo: orders\n    gl|")).toMatchObject({
      word: "gl",
      present: ["repo"],
      top: ["pipeline", "input"],
      flow: false,
    });
  });

  test("is none inside of SQL and comments", () => {
    const sql = "transform:\n  sql: |\n    ";
    expect(placeAt(`${sql}SEL`, sql.length + 3)).toBeNull();
    expect(placeAt(`${sql}SELECT a`, sql.length + 8)).toBeNull();
    expect(place("transform:\n  sql: >-\n    SEL|\n  mode: each")).toBeNull();
    expect(place("# pipe|")).toBeNull();
  });
});

describe("offers", () => {
  test("fields at the top, without those that are there", () => {
    const found = offers("pipeline: {name: x}\n|");
    expect(found).toContain("transform");
    expect(found).toContain("schedule");
    expect(found).not.toContain("pipeline");
  });

  test("an ingest has other fields", () => {
    expect(offers("ingest: {name: x}\n|")).toContain("source");
    expect(offers("ingest: {name: x}\n|")).not.toContain("transform");
    expect(offers("|")).toEqual(expect.arrayContaining(["pipeline", "ingest"]));
  });

  test("fields of nested objects, with what they mean", () => {
    const glob = option("input:\n  pfs:\n    repo: orders\n    |", "glob");
    expect(glob?.info).toMatch(/one datum/);
    expect(glob?.apply).toBe("glob: ");
    expect(option("tra|", "transform")?.apply).toBe("transform:\n  ");
    expect(option("inp|", "input")?.apply).toBe("input:\n  ");
    expect(option("input:\n  cr|", "cross")?.apply).toBe("cross:\n    - ");
  });

  test("the name alone where a colon stands already", () => {
    expect(option("input:\n  pfs:\n    re|: orders", "repo")?.apply).toBe("repo");
  });

  test("values of an enum, and true or false", () => {
    expect(offers("transform:\n  mode: |")).toEqual(["whole", "together", "each", "append"]);
    expect(offers("input:\n  pfs: {repo: a, lazy: |}")).toEqual(["true", "false"]);
  });

  test("names of the lake", () => {
    expect(offers("input:\n  pfs:\n    repo: |")).toEqual(["orders", "clean"]);
    expect(offers("pipeline:\n  project: |")).toEqual(expect.arrayContaining(["shop"]));
    expect(offers("pool: |")).toEqual(["big"]);
  });

  test("nothing that only others' specs have", () => {
    expect(offers("input:\n  cron:\n    |")).not.toContain("commit");
  });

  test("nothing where nothing is known", () => {
    expect(offers("description: |")).toBeNull();
    expect(offers("nonsense:\n  |")).toBeNull();
  });
});

test("additional properties have a schema too", () => {
  const root: Schema = {
    type: "object",
    additionalProperties: { type: "object", properties: { a: { enum: ["x", "y"] } } },
  };
  expect(fieldsAt(root, ["any"], ["any"]).map((one) => one.name)).toEqual(["a"]);
  expect(valuesAt(root, ["any", "a"], ["any"])).toEqual(["x", "y"]);
});
