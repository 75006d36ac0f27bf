/** Where an arrow key leads: along the lines to the sides, up and down within a column. */
import type { Graph } from "./graph";
import type { Layout } from "./layout";

const KEYS = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End"];

export const isStep = (key: string): boolean => KEYS.includes(key);

export function step(from: string, key: string, graph: Graph, layout: Layout): string {
  const order = layout.order.filter((id) => graph.nodes.has(id));
  const here = layout.at[from];
  if (!here || !graph.nodes.has(from)) return order[0] ?? from;
  const nearest = (ids: string[]): string =>
    ids
      .filter((id) => layout.at[id])
      .sort((a, b) => Math.abs(layout.at[a]!.y - here.y) - Math.abs(layout.at[b]!.y - here.y))[0] ??
    from;
  const column = order.filter((id) => layout.at[id]?.x === here.x);
  switch (key) {
    case "ArrowRight":
      return nearest(graph.down.get(from) ?? []);
    case "ArrowLeft":
      return nearest(graph.up.get(from) ?? []);
    case "ArrowDown":
      return column[column.indexOf(from) + 1] ?? from;
    case "ArrowUp":
      return column[column.indexOf(from) - 1] ?? from;
    case "Home":
      return order[0] ?? from;
    default:
      return order.at(-1) ?? from;
  }
}
