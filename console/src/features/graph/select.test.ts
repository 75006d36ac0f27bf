import { describe, expect, test } from "vitest";
import { shopGraph } from "./sample";
import { BadSelector, select } from "./select";

const names = (text: string): string[] =>
  [...(select(text, shopGraph) ?? [])].map((id) => id.replace("default/", "")).sort();

test("an empty selector means none in particular", () => {
  expect(select("", shopGraph)).toBeNull();
  expect(select("  ", shopGraph)).toBeNull();
});

describe("names", () => {
  test.each([
    ["clean", ["clean"]],
    ["CLEAN", ["clean"]],
    ["orders", ["orders", "shop/orders"]],
    ["shop/orders", ["shop/orders"]],
    ["default/orders", ["orders"]],
    ["*re*", ["report", "revenue"]],
    ["r*t", ["report"]],
  ])("%s", (text, expected) => expect(names(text)).toEqual(expected));

  test("a part of a name will do when nothing has it whole", () => {
    expect(names("rev")).toEqual(["revenue"]);
    expect(names("nothing")).toEqual([]);
  });

  test("what means something in a regular expression is taken as it is", () => {
    expect(names("cl.an")).toEqual([]);
    expect(names("c.*n")).toEqual([]);
    expect(names("(*")).toEqual([]);
  });
});

describe("up and down", () => {
  test.each([
    ["+revenue", ["clean", "orders", "revenue"]],
    ["revenue+", ["report", "revenue"]],
    ["1+report", ["goods", "report", "revenue"]],
    ["2+report", ["clean", "goods", "orders", "report", "revenue"]],
    ["default/orders+1", ["clean", "goods", "orders"]],
    ["+revenue+", ["clean", "orders", "report", "revenue"]],
    ["1+revenue+1", ["clean", "report", "revenue"]],
    ["0+report", ["report"]],
    ["+kind:stream+", ["clicks"]],
    ["state:failure+", ["clean", "report", "revenue"]],
  ])("%s", (text, expected) => expect(names(text)).toEqual(expected));
});

describe("methods", () => {
  test.each([
    ["kind:stream", ["clicks"]],
    ["state:failure", ["clean"]],
    ["project:shop", ["shop/orders"]],
    ["project:sh*", ["shop/orders"]],
  ])("%s", (text, expected) => expect(names(text)).toEqual(expected));
});

test("words are joined, commas ask for both", () => {
  expect(names("clean goods")).toEqual(["clean", "goods"]);
  expect(names("clean+,+revenue")).toEqual(["clean", "revenue"]);
  expect(names("kind:pipeline,state:failure clicks")).toEqual(["clean", "clicks"]);
  expect(names("goods,clean")).toEqual([]);
});

test.each([
  ["+", "not a selector"],
  ["2+", "not a selector"],
  ["a++b", "not a selector"],
  ["orders,", "not a selector"],
  ["kind:", "needs a value"],
  ["kind:table", 'no kind "table". It is one of: ingest, pipeline'],
  ["state:broken", 'no state "broken"'],
  ["owner:me", 'cannot select by "owner:"'],
])("%s is refused in words", (text, words) => {
  expect(() => names(text)).toThrow(BadSelector);
  expect(() => names(text)).toThrow(words);
});
