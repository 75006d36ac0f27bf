/** Pipelines in the order in which data goes through them. */

import type { RepoName } from "~/api/types";
import { full } from "~/lib/names";

export interface Arrow {
  source: RepoName;
  target: RepoName;
}

/** Names from the sources on, those that depend on nothing of each other by name. Circles are cut. */
export function inGraphOrder(names: RepoName[], edges: Arrow[]): RepoName[] {
  const into = new Map<string, string[]>();
  for (const { source, target } of edges) {
    const known = into.get(full(target));
    if (known) known.push(full(source));
    else into.set(full(target), [full(source)]);
  }
  const depths = new Map<string, number>();
  const depth = (name: string, above: Set<string>): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    if (above.has(name)) return 0;
    above.add(name);
    const found = Math.max(-1, ...(into.get(name) ?? []).map((one) => depth(one, above))) + 1;
    above.delete(name);
    depths.set(name, found);
    return found;
  };
  return [...names].sort((a, b) => {
    const by = depth(full(a), new Set()) - depth(full(b), new Set());
    return by || (full(a) < full(b) ? -1 : full(a) > full(b) ? 1 : 0);
  });
}
