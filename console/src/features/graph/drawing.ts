/** From the lake's graph and its layout to what is drawn. What did not change stays the same object,
 * so that only what did is drawn again.
 */
import { type Edge, Position } from "@xyflow/react";
import type { BoxNode, Card, CardNode } from "./GraphNode";
import { type Graph, isFlowing, spoken } from "./graph";
import { type Layout, NODE } from "./layout";

export interface Look {
  /** What is drawn, at the moment that is looked at. */
  graph: Graph;
  layout: Layout;
  /** The nodes of the newest graph: those that are not in `graph` fade. */
  newest: Graph;
  selected: ReadonlySet<string> | null;
  chosen: string;
  tabbed: string;
}

const HANDLES: NonNullable<CardNode["handles"]> = [
  { type: "target", position: Position.Left, x: 0, y: NODE.height / 2, width: 1, height: 1 },
  {
    type: "source",
    position: Position.Right,
    x: NODE.width,
    y: NODE.height / 2,
    width: 1,
    height: 1,
  },
];
// It would call each "node" to those who cannot see it, though nothing there has that role.
const PLAIN = { "aria-roledescription": undefined };

const alike = (a: Card, b: Card): boolean =>
  (Object.keys(a) as (keyof Card)[]).every((name) => a[name] === b[name]);

export class Drawing {
  private cards = new Map<string, CardNode>();
  private edges = new Map<string, Edge>();

  nodes({ graph, layout, newest, selected, chosen, tabbed }: Look): (CardNode | BoxNode)[] {
    const before = this.cards;
    this.cards = new Map();
    for (const id of layout.order) {
      const at = layout.at[id];
      const node = graph.nodes.get(id) ?? newest.nodes.get(id);
      if (!at || !node) continue;
      const data: Card = {
        node,
        label: spoken(node, graph),
        chosen: id === chosen,
        dim: selected !== null && !selected.has(id),
        gone: !graph.nodes.has(id),
        tabbed: id === tabbed,
      };
      const old = before.get(id);
      const same =
        old && old.position.x === at.x && old.position.y === at.y && alike(old.data, data);
      this.cards.set(
        id,
        same
          ? old
          : {
              id,
              type: "card",
              position: at,
              data,
              ...NODE,
              measured: NODE,
              handles: HANDLES,
              domAttributes: PLAIN,
            },
      );
    }
    const boxes = Object.entries(layout.projects).map(
      ([name, { x, y, width, height }]): BoxNode => ({
        id: `project:${name}`,
        type: "project",
        position: { x, y },
        data: { name },
        width,
        height,
        measured: { width, height },
        handles: [],
        zIndex: -1,
        domAttributes: PLAIN,
      }),
    );
    return [...boxes, ...this.cards.values()];
  }

  lines({ graph, layout, selected }: Look, looks: Record<string, string | undefined>): Edge[] {
    const before = this.edges;
    this.edges = new Map();
    for (const { id, source, target, label, starts } of graph.lines) {
      if (!layout.at[source] || !layout.at[target]) continue;
      const node = graph.nodes.get(target);
      const dim = selected !== null && !(selected.has(source) && selected.has(target));
      const className = [
        looks.edge,
        !starts && looks.quiet,
        node && isFlowing(node) && looks.flowing,
        dim && looks.faint,
      ]
        .filter(Boolean)
        .join(" ");
      const old = before.get(id);
      this.edges.set(
        id,
        old && old.className === className && old.label === (label || undefined)
          ? old
          : { id, source, target, className, label: label || undefined },
      );
    }
    return [...this.edges.values()];
  }
}
