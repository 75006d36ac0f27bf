/** Where the nodes go: left to right by who reads whom, each project in a box of its own.
 *
 * What is not connected is laid out apart and packed like pictures on a wall: a lake of many small
 * graphs then is as wide as it is tall, and the time it takes grows with the largest of them.
 */
import { Graph as DagreGraph, layout } from "@dagrejs/dagre";

export const NODE = { width: 248, height: 92 };
const GAP = { rank: 64, node: 20, part: 40, project: 72 };
const BOX = { side: 24, top: 52, bottom: 24 };
const ASPECT = 1.7;

export interface Shape {
  nodes: { id: string; project: string }[];
  edges: [source: string, target: string][];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  /** The corner at the top left of each node. */
  at: Record<string, { x: number; y: number }>;
  /** The boxes of the projects; none if there is only one. */
  projects: Record<string, Box>;
  /** All nodes, column by column: the order of reading. */
  order: string[];
}

interface Block {
  width: number;
  height: number;
  at: Map<string, { x: number; y: number }>;
}

/** What hangs together, in the order of the nodes. */
export function components(ids: string[], edges: [string, string][]): string[][] {
  const near = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const [a, b] of edges) {
    near.get(a)?.push(b);
    near.get(b)?.push(a);
  }
  const seen = new Set<string>();
  const found: string[][] = [];
  for (const id of ids) {
    if (seen.has(id)) continue;
    const one: string[] = [];
    const open = [id];
    seen.add(id);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      one.push(next);
      for (const other of near.get(next) ?? []) {
        if (!seen.has(other)) {
          seen.add(other);
          open.push(other);
        }
      }
    }
    found.push(one);
  }
  return found;
}

function layered(
  sizes: Map<string, { width: number; height: number }>,
  edges: [string, string][],
  gap: { rank: number; node: number },
): Block {
  const graph = new DagreGraph();
  graph.setGraph({ rankdir: "LR", ranksep: gap.rank, nodesep: gap.node });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [id, size] of sizes) graph.setNode(id, { ...size });
  for (const [source, target] of edges) if (source !== target) graph.setEdge(source, target);
  layout(graph);
  const at = new Map<string, { x: number; y: number }>();
  let [width, height] = [0, 0];
  for (const [id, size] of sizes) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    at.set(id, { x: x - size.width / 2, y: y - size.height / 2 });
    width = Math.max(width, x + size.width / 2);
    height = Math.max(height, y + size.height / 2);
  }
  return { width, height, at };
}

/** Blocks in rows, the tallest first, about as wide as a screen is for its height. */
function packed(blocks: Block[], gap: number): Block {
  const order = [...blocks].sort((a, b) => b.height - a.height || b.width - a.width);
  const area = blocks.reduce((sum, one) => sum + (one.width + gap) * (one.height + gap), 0);
  const most = Math.max(Math.sqrt(area * ASPECT), ...blocks.map((one) => one.width));
  const at = new Map<string, { x: number; y: number }>();
  let [x, y, tall, width] = [0, 0, 0, 0];
  for (const block of order) {
    if (x > 0 && x + block.width > most) {
      [x, y, tall] = [0, y + tall + gap, 0];
    }
    for (const [id, place] of block.at) at.set(id, { x: place.x + x, y: place.y + y });
    x += block.width + gap;
    width = Math.max(width, x - gap);
    tall = Math.max(tall, block.height);
  }
  return { width, height: y + tall, at };
}

function projectBlock(ids: string[], edges: [string, string][]): Block {
  const parts = components(ids, edges).map((one) => {
    const inside = new Set(one);
    return layered(
      new Map(one.map((id) => [id, NODE])),
      edges.filter(([source]) => inside.has(source)),
      GAP,
    );
  });
  return packed(parts, GAP.part);
}

function inOrder(at: Layout["at"]): string[] {
  return Object.entries(at)
    .sort(([a, p], [b, q]) => p.x - q.x || p.y - q.y || (a < b ? -1 : 1))
    .map(([id]) => id);
}

export function arrange({ nodes, edges }: Shape): Layout {
  const members = new Map<string, string[]>();
  const home = new Map<string, string>();
  for (const { id, project } of nodes) {
    members.set(project, [...(members.get(project) ?? []), id]);
    home.set(id, project);
  }
  const within = new Map<string, [string, string][]>();
  const between = new Map<string, [string, string]>();
  for (const [source, target] of edges) {
    const [a, b] = [home.get(source) ?? "", home.get(target) ?? ""];
    if (a === b) within.set(a, [...(within.get(a) ?? []), [source, target]]);
    else between.set(`${a}>${b}`, [a, b]);
  }
  const blocks = new Map(
    [...members].map(([project, ids]) => [project, projectBlock(ids, within.get(project) ?? [])]),
  );
  const at: Layout["at"] = {};
  if (blocks.size <= 1) {
    for (const block of blocks.values()) Object.assign(at, Object.fromEntries(block.at));
    return { at, projects: {}, order: inOrder(at) };
  }
  const sizes = new Map(
    [...blocks].map(([project, block]) => [
      project,
      { width: block.width + 2 * BOX.side, height: block.height + BOX.top + BOX.bottom },
    ]),
  );
  const outer = packed(
    components([...members.keys()], [...between.values()]).map((names) => {
      const inside = new Set(names);
      return layered(
        new Map([...sizes].filter(([name]) => inside.has(name))),
        [...between.values()].filter(([name]) => inside.has(name)),
        { rank: GAP.project, node: GAP.part },
      );
    }),
    GAP.project,
  );
  const projects: Layout["projects"] = {};
  for (const [project, corner] of outer.at) {
    projects[project] = { ...corner, ...(sizes.get(project) ?? NODE) };
    for (const [id, place] of blocks.get(project)?.at ?? []) {
      at[id] = { x: corner.x + BOX.side + place.x, y: corner.y + BOX.top + place.y };
    }
  }
  return { at, projects, order: inOrder(at) };
}
