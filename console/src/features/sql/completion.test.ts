import { CompletionContext, type CompletionSource } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import type { TableInfo } from "~/api/types";
import { namespace, revisions, sqlExtension, tableName } from "./completion";

const table = (name: string, columns: string[], error = ""): TableInfo =>
  ({
    name,
    columns: columns.map((one) => ({ name: one, type: "string", nullable: true })),
    error,
  }) as unknown as TableInfo;

describe("a table's name", () => {
  it.each([
    ["orders@main", "orders"],
    ["shop/orders@main", '"shop/orders"'],
    ["raw-data@main", '"raw-data"'],
    ["clean@main:/late", '"clean@main:/late"'],
  ])("of %s is %s", (name, expected) => expect(tableName(table(name, []))).toBe(expected));
});

it("offers the columns of tables that can be read", () => {
  const found = namespace([table("a@main", ["x", "y"]), table("b@main", [], "broken")]);
  expect(Object.keys(found)).toEqual(["a"]);
  expect((found as Record<string, { label: string }[]>).a?.map((one) => one.label)).toEqual([
    "x",
    "y",
  ]);
});

describe("revisions", () => {
  const at = (text: string) =>
    revisions(new CompletionContext(EditorState.create({ doc: text }), text.length, false));
  it("come after an @ and after AT", () => {
    expect(at('FROM "orders@ma')?.from).toBe(13);
    expect(at("FROM orders AT 'main")?.from).toBe(16);
  });
  it("come nowhere else", () => expect(at("SELECT ma")).toBeNull());
});

it("offers words of queries and names of the lake, and no word of the standard one never needs", async () => {
  const offered = async (text: string) => {
    const extensions = sqlExtension([table("clean@main", ["day"])]);
    const state = EditorState.create({ doc: text, extensions });
    const sources = state.languageDataAt<CompletionSource>("autocomplete", text.length);
    const context = new CompletionContext(state, text.length, false);
    const found = await Promise.all(sources.map((source) => source(context)));
    return found.flatMap((one) => one?.options.map((option) => option.label) ?? []);
  };
  const labels = await offered("SELECT * FROM cl");
  expect(labels).toEqual(expect.arrayContaining(["clean", "day", "WHERE"]));
  expect(labels).not.toContain("DLURLCOMPLETEONLY");
  expect(await offered("SELECT 'wh")).not.toContain("WHERE");
});
