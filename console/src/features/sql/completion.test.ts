import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import type { TableInfo } from "~/api/types";
import { namespace, revisions, tableName } from "./completion";

const table = (name: string, columns: string[], error = ""): TableInfo =>
  ({
    name,
    columns: { columns: columns.map((one) => ({ name: one, type: "string", nullable: true })) },
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
