import { describe, expect, it } from "vitest";
import { full, parseName, paths, ref, shown } from "./names";

const orders = { project: "default", repo: "orders" };
const shop = { project: "shop", repo: "a b" };

describe("names", () => {
  it("leave out the default project", () => {
    expect(shown(orders)).toBe("orders");
    expect(shown(shop)).toBe("shop/a b");
    expect(full(orders)).toBe("default/orders");
  });
  it("are read back", () => {
    expect(parseName("orders")).toEqual(orders);
    expect(parseName(shown(shop))).toEqual(shop);
  });
  it("make refs", () => {
    expect(ref(orders, "main")).toBe("default/orders@main");
    expect(ref(orders, "main", "/")).toBe("default/orders@main");
    expect(ref(orders, "v1", "/day=1/a.csv")).toBe("default/orders@v1:/day=1/a.csv");
  });
});

it("escapes what goes into a path", () => {
  expect(paths.repo({ project: "p", repo: "a/b?c#d" })).toBe("/repos/p/a%2Fb%3Fc%23d");
  expect(paths.lineage("a@main:/x&y", "c=1")).toBe("/lineage?ref=a%40main%3A%2Fx%26y&column=c%3D1");
});
