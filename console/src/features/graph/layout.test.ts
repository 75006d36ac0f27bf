import { expect, test } from "vitest";
import { arrange, type Box, components, NODE, type Shape } from "./layout";
import { shopGraph } from "./sample";
import { step } from "./walk";

const one = (ids: string[], edges: Shape["edges"], project = "p"): Shape => ({
  nodes: ids.map((id) => ({ id, project })),
  edges,
});

const meet = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const boxes = (at: Record<string, { x: number; y: number }>): Box[] =>
  Object.values(at).map((place) => ({ ...place, ...NODE }));

function expectApart(all: Box[]): void {
  all.forEach((a, n) => {
    for (const b of all.slice(n + 1)) expect(meet(a, b)).toBe(false);
  });
}

test("what is read stands left of what reads it", () => {
  const { at, order, projects } = arrange(
    one(
      ["c", "b", "a"],
      [
        ["a", "b"],
        ["b", "c"],
      ],
    ),
  );
  expect(at.a!.x).toBeLessThan(at.b!.x);
  expect(at.b!.x).toBeLessThan(at.c!.x);
  expect(order).toEqual(["a", "b", "c"]);
  expect(projects).toEqual({});
});

test("a circle is drawn all the same", () => {
  const { order } = arrange(
    one(
      ["a", "b"],
      [
        ["a", "b"],
        ["b", "a"],
        ["a", "a"],
      ],
    ),
  );
  expect(order.sort()).toEqual(["a", "b"]);
});

test("what hangs together", () => {
  expect(
    components(
      ["a", "b", "c", "d"],
      [
        ["a", "c"],
        ["d", "c"],
      ],
    ),
  ).toEqual([["a", "c", "d"], ["b"]]);
});

test("many that do not hang together are as wide as they are tall, about", () => {
  const ids = Array.from({ length: 100 }, (_, n) => `n${n}`);
  const places = boxes(arrange(one(ids, [])).at);
  expectApart(places);
  const width = Math.max(...places.map((box) => box.x + box.width));
  const height = Math.max(...places.map((box) => box.y + box.height));
  expect(width / height).toBeGreaterThan(1);
  expect(width / height).toBeLessThan(3);
});

test("projects have boxes of their own around their nodes", () => {
  const { at, projects } = arrange({
    nodes: ["a1", "a2", "b1", "c1"].map((id) => ({ id, project: id[0]! })),
    edges: [
      ["a1", "a2"],
      ["a2", "b1"],
      ["b1", "a1"],
    ],
  });
  expect(Object.keys(projects).sort()).toEqual(["a", "b", "c"]);
  expectApart(Object.values(projects));
  for (const [id, { x, y }] of Object.entries(at)) {
    const box = projects[id[0]!]!;
    expect(x).toBeGreaterThan(box.x);
    expect(x + NODE.width).toBeLessThan(box.x + box.width);
    expect(y).toBeGreaterThan(box.y);
    expect(y + NODE.height).toBeLessThan(box.y + box.height);
  }
});

test("arrows go along the lines and within a column", () => {
  const layout = arrange({
    nodes: [...shopGraph.nodes].map(([id, n]) => ({ id, project: n.name.project })),
    edges: shopGraph.lines.map((line) => [line.source, line.target]),
  });
  const go = (from: string, key: string) => step(from, key, shopGraph, layout);
  expect(go("default/clean", "ArrowRight")).toBe("default/revenue");
  expect(go("default/clean", "ArrowLeft")).toBe("default/orders");
  expect(go("default/report", "ArrowRight")).toBe("default/report");
  const below = go("default/goods", "ArrowDown");
  const above = go("default/goods", "ArrowUp");
  expect([below, above]).toContain("default/revenue");
  expect(go("default/report", "Home")).toBe(layout.order[0]);
  expect(go("default/report", "End")).toBe(layout.order.at(-1));
  expect(go("not/there", "ArrowUp")).toBe(layout.order[0]);
});
