/** A small lake for the tests of this screen: orders → clean → revenue → report ← goods ← orders. */
import { graphOf, type LakeEdge, type LakeNode } from "./graph";

export function node(repo: string, more: Partial<LakeNode> = {}): LakeNode {
  return {
    name: { project: "default", repo },
    kind: "pipeline",
    state: "success",
    description: "",
    paused: false,
    how: "sql",
    schedule: "",
    inputs: [],
    behind: 0,
    late: 0,
    ...more,
  };
}

export const edge = (source: string, target: string, more: Partial<LakeEdge> = {}): LakeEdge => ({
  source: { project: "default", repo: source },
  target: { project: "default", repo: target },
  label: source,
  starts: true,
  ...more,
});

export const shop = {
  nodes: [
    node("orders", { kind: "repo", state: "" }),
    node("clean", { state: "failure" }),
    node("goods"),
    node("revenue"),
    node("report"),
    node("clicks", { kind: "stream", state: "running" }),
    node("orders", { name: { project: "shop", repo: "orders" }, kind: "repo", state: "" }),
  ],
  edges: [
    edge("orders", "clean"),
    edge("clean", "revenue"),
    edge("orders", "goods"),
    edge("revenue", "report"),
    edge("goods", "report", { starts: false }),
  ],
};

export const shopGraph = graphOf(shop);
