/** Where boxes of any size go, left to right. */
import { Graph, layout } from "@dagrejs/dagre";

export interface Shape {
  boxes: { id: string; width: number; height: number }[];
  edges: [source: string, target: string][];
}

/** The corner at the top left of each box. */
export type Layout = Record<string, { x: number; y: number }>;

export function arrange({ boxes, edges }: Shape): Layout {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", ranksep: 46, nodesep: 18 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const [source, target] of edges) if (source !== target) graph.setEdge(source, target);
  layout(graph);
  return Object.fromEntries(
    boxes.map(({ id, width, height }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}
