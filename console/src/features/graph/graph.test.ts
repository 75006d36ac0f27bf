import { expect, test } from "vitest";
import { flowText } from "./GraphNode";
import { graphOf, part, spoken } from "./graph";
import { edge, node, shop, shopGraph } from "./sample";

test("reading a repo twice is one line, which starts something if one of them does", () => {
  const { lines } = graphOf({
    nodes: [node("a"), node("b")],
    edges: [edge("a", "b", { starts: false, label: "old" }), edge("a", "b")],
  });
  expect(lines).toEqual([
    {
      id: "default/a>default/b",
      source: "default/a",
      target: "default/b",
      label: "old",
      starts: true,
    },
  ]);
});

test("lines to what is not there are left out", () => {
  const { lines } = graphOf({ nodes: [node("a")], edges: [edge("a", "b")] });
  expect(lines).toEqual([]);
});

test("a project alone", () => {
  expect([...graphOf(shop, "shop").nodes.keys()]).toEqual(["shop/orders"]);
});

test("a part keeps the lines within it", () => {
  const some = part(shopGraph, new Set(["default/orders", "default/clean", "default/report"]));
  expect(some.lines.map((line) => line.id)).toEqual(["default/orders>default/clean"]);
  expect(some.down.get("default/orders")).toEqual(["default/clean"]);
});

test("all that is seen is said", () => {
  const seen = node("clean", {
    state: "failure",
    inputs: [{ project: "default", repo: "orders" }],
    behind: 1,
    checks: { passed: 2, warned: 0, quarantined: 1, failed: 1 },
  });
  const said = spoken(seen, graphOf({ nodes: [seen, node("b")], edges: [edge("clean", "b")] }));
  expect(said).toBe(
    "clean, pipeline, failure, behind 1 input, checks: 2 passed, 2 broken, reads 1 repo, read by 1 pipeline",
  );
});

test("rows each second are of what flows now", () => {
  const stream = node("s", { kind: "stream", state: "running", rows_per_second: 1234.5 });
  expect(flowText(stream)).toBe("1.2K rows/s");
  expect(flowText({ ...stream, state: "idle" })).toBe("");
});
