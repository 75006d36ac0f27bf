/** The lake's graph, as this screen handles it: nodes by `project/repo`, and who reads whom. */
import type { Schema } from "~/api/types";
import { briefly, plural } from "~/lib/format";
import { full, shown } from "~/lib/names";

export type Overview = Schema<"Overview">;
export type LakeNode = Schema<"OverviewNode">;
export type LakeEdge = Schema<"OverviewEdge">;

export interface Line {
  id: string;
  source: string;
  target: string;
  /** Under which names the target reads the source, if others than the source's own. */
  label: string;
  starts: boolean;
}

export interface Graph {
  nodes: Map<string, LakeNode>;
  lines: Line[];
  up: Map<string, string[]>;
  down: Map<string, string[]>;
}

/** Reading a repo twice is one line, which starts something if one of the two does. */
function linesOf(edges: LakeEdge[], nodes: Map<string, LakeNode>): Line[] {
  const lines = new Map<string, Line>();
  for (const edge of edges) {
    const [source, target] = [full(edge.source), full(edge.target)];
    if (!nodes.has(source) || !nodes.has(target)) continue;
    const id = `${source}>${target}`;
    const before = lines.get(id);
    const label = edge.label === edge.source.repo ? "" : edge.label;
    lines.set(id, {
      id,
      source,
      target,
      label: [before?.label, label].filter(Boolean).join(", "),
      starts: edge.starts || Boolean(before?.starts),
    });
  }
  return [...lines.values()];
}

function joined(nodes: Map<string, LakeNode>, lines: Line[]): Graph {
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const { source, target } of lines) {
    down.set(source, [...(down.get(source) ?? []), target]);
    up.set(target, [...(up.get(target) ?? []), source]);
  }
  return { nodes, lines, up, down };
}

/** The graph of an overview, of one project only if one is named. */
export function graphOf(overview: Pick<Overview, "nodes" | "edges">, project = ""): Graph {
  const nodes = new Map(
    overview.nodes
      .filter((node) => !project || node.name.project === project)
      .map((node) => [full(node.name), node]),
  );
  return joined(nodes, linesOf(overview.edges, nodes));
}

/** The part of a graph that is made of some of its nodes. */
export function part(graph: Graph, ids: ReadonlySet<string>): Graph {
  return joined(
    new Map([...graph.nodes].filter(([id]) => ids.has(id))),
    graph.lines.filter((line) => ids.has(line.source) && ids.has(line.target)),
  );
}

export const projectsOf = (overview: Overview): string[] =>
  [...new Set(overview.nodes.map((node) => node.name.project))].sort();

const KINDS: Record<string, string> = { cron: "schedule" };

export const kindOf = (node: LakeNode): string => KINDS[node.kind] ?? node.kind;

/** Whether data flows through it right now. */
export const isFlowing = (node: LakeNode): boolean =>
  node.state === "running" || node.state === "finishing";

export function freshness(node: LakeNode): string {
  if (node.inputs.length === 0) return "";
  return node.behind > 0 ? `behind ${plural(node.behind, "input")}` : "fresh";
}

/** All that a node shows, for those who do not see it. */
export function spoken(node: LakeNode, graph: Graph): string {
  const id = full(node.name);
  const readers = graph.down.get(id)?.length ?? 0;
  const { checks, head, job } = node;
  const broken = checks ? checks.warned + checks.quarantined + checks.failed : 0;
  return [
    shown(node.name),
    kindOf(node),
    node.state,
    job && `last job ${job.state} ${briefly(job.finished ?? job.created)}`,
    !job && head && `last commit ${briefly(head.at)}`,
    freshness(node),
    checks && `checks: ${checks.passed} passed, ${broken} broken`,
    node.inputs.length > 0 && `reads ${plural(node.inputs.length, "repo")}`,
    readers > 0 && `read by ${plural(readers, "pipeline")}`,
  ]
    .filter(Boolean)
    .join(", ");
}
