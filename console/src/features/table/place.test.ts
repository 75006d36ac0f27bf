import { describe, expect, it } from "vitest";
import type { TableInfo } from "~/api/types";
import { firstPath, placeOf, sqlPath, tablePath, titleOf } from "./place";

const orders = { name: { project: "default", repo: "orders" }, path: "/" };
const items = { name: { project: "lab", repo: "shop" }, path: "/items" };
const ID = "01a1e09aed927f36979e93b9716cfd11";

const info = (name: string, path: string): TableInfo => ({
  name,
  path,
  format: "csv",
  columns: [],
  size: 0,
  files: 0,
  recorded: false,
  partition_by: [],
  key: [],
  options: {},
  error: "",
});

const asked = (path: string) => new URL(path, "http://x").searchParams;

describe("the place of a table", () => {
  it("is read from the name that a list tells", () => {
    expect(placeOf(info("orders@main", "/"))).toEqual(orders);
    expect(placeOf(info("lab/shop@main:/items", "/items"))).toEqual(items);
    expect(titleOf(items)).toBe("lab/shop:/items");
  });

  it("is the whole repo if that is a table, else its first folder", () => {
    expect(firstPath([info("a@main:/b", "/b"), info("a@main", "/")])).toBe("/");
    expect(firstPath([info("a@main:/b", "/b")])).toBe("/b");
    expect(firstPath([])).toBe("/");
  });

  it("is an address, whatever its names are", () => {
    expect(tablePath(orders)).toBe("/tables/default/orders");
    expect(tablePath({ ...items, path: "/a&b" }, { at: "x" })).toBe(
      "/tables/lab/shop?path=%2Fa%26b&at=x",
    );
  });
});

describe("a query over a table", () => {
  it("names it as SQL does", () => {
    expect(asked(sqlPath(orders, "main")).get("q")).toBe('SELECT * FROM "orders" LIMIT 100');
    expect(asked(sqlPath(items, "main")).get("q")).toBe(
      'SELECT * FROM "lab/shop@main:/items" LIMIT 100',
    );
    expect(asked(sqlPath({ ...orders, path: '/a"b' }, "main")).get("q")).toContain('/a""b"');
  });

  it("is at the version that is looked at", () => {
    expect(asked(sqlPath(orders, "dev")).get("q")).toContain('"orders@dev"');
    expect(asked(sqlPath(orders, ID)).get("q")).toContain(`"orders@${ID}"`);
    expect(asked(sqlPath(items, ID)).get("q")).toContain(`"lab/shop@${ID}:/items"`);
  });
});
