import { expect, test } from "vitest";
import { Drawing, type Look } from "./drawing";
import { graphOf } from "./graph";
import { arrange } from "./layout";
import { node, shop, shopGraph } from "./sample";

const layout = arrange({
  nodes: [...shopGraph.nodes].map(([id, n]) => ({ id, project: n.name.project })),
  edges: shopGraph.lines.map((line) => [line.source, line.target]),
});
const LOOKS = { edge: "edge", quiet: "quiet", flowing: "flowing", faint: "faint" };
const look: Look = {
  graph: shopGraph,
  newest: shopGraph,
  layout,
  selected: null,
  chosen: "",
  tabbed: "",
};
const withState = (repo: string, state: string) =>
  graphOf({
    ...shop,
    nodes: shop.nodes.map((one) =>
      one.name.repo === repo ? node(repo, { kind: one.kind, state }) : one,
    ),
  });

test("only what changed is another object", () => {
  const drawing = new Drawing();
  const before = drawing.nodes(look).filter((one) => one.type === "card");
  const after = drawing.nodes({ ...look, graph: withState("goods", "running") });
  const changed = after.filter((one) => one.type === "card" && !before.includes(one));
  expect(changed.map((one) => one.id)).toEqual(["default/goods"]);
});

test("lines into what runs flow, and those that start nothing are dashed", () => {
  const lines = new Drawing().lines({ ...look, graph: withState("report", "running") }, LOOKS);
  const looks = Object.fromEntries(lines.map((line) => [line.id, line.className]));
  expect(looks["default/goods>default/report"]).toBe("edge quiet flowing");
  expect(looks["default/revenue>default/report"]).toBe("edge flowing");
  expect(looks["default/orders>default/goods"]).toBe("edge");
});

test("what is not selected is dim, and so are the lines that leave the selection", () => {
  const selected = new Set(["default/orders", "default/goods"]);
  const drawing = new Drawing();
  const dim = drawing
    .nodes({ ...look, selected })
    .filter((one) => one.type === "card" && one.data.dim);
  expect(dim.map((one) => one.id)).not.toContain("default/goods");
  expect(dim).toHaveLength(5);
  const faint = drawing
    .lines({ ...look, selected }, LOOKS)
    .filter((line) => line.className?.includes("faint"));
  expect(faint).toHaveLength(4);
});

test("what was not there yet keeps its place and fades", () => {
  const past = graphOf({ nodes: shop.nodes.slice(0, 1), edges: [] });
  const cards = new Drawing().nodes({ ...look, graph: past }).filter((one) => one.type === "card");
  expect(cards).toHaveLength(7);
  expect(cards.filter((one) => !one.data.gone).map((one) => one.id)).toEqual(["default/orders"]);
});
