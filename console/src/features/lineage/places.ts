/** The lineage of commits, files and folders. */
import type { Lineage, LineageNode } from "~/api/lineage";
import { within } from "~/features/repo/where";
import { bytes, plural, shortId } from "~/lib/format";
import { full, paths, ref, shown } from "~/lib/names";
import type { Box, Branch, Direction, Drawn, Goal, Kind, Line, Told, Way } from "./drawn";
import { parted } from "./drawn";

const KINDS = ["commit", "file", "folder", "code", "more", "hidden"];

const kindOf = ({ kind }: LineageNode): Kind => (KINDS.includes(kind) ? kind : "commit") as Kind;

export function goalOf({ kind, repo, commit, path }: LineageNode): Goal | undefined {
  if (!repo || !commit || kind === "more" || kind === "hidden") return undefined;
  return { ref: ref(repo, commit, path) };
}

/** The screens that show more of a place. */
export function waysOf(node: LineageNode): Way[] {
  const { kind, repo, commit, path, pipeline, version, job, datum } = node;
  const ways: Way[] = [];
  if (repo && commit)
    ways.push({
      to: within(repo, { at: commit, path }),
      text: kind === "file" ? "Open the file" : "Open the files",
      kind: "open",
    });
  if (pipeline && version)
    ways.push({
      to: `${paths.pipeline(pipeline)}?tab=code&v=${version}`,
      text: `Code of ${shown(pipeline)} v${version}`,
      kind: "code",
    });
  if (pipeline && job)
    ways.push({
      to: `${paths.job(pipeline, job)}${datum ? `?tab=datums&datum=${encodeURIComponent(datum)}` : ""}`,
      text: datum ? "Job and datum that made it" : "Job that made it",
      kind: "job",
    });
  return ways;
}

function titleOf(node: LineageNode): string {
  const { repo, path, kind } = node;
  if (!repo) return node.text;
  if (kind === "code") return node.text;
  if (!path || path === "/") return shown(repo);
  const name = parted(path)[1];
  return kind === "folder" ? `${name}/` : name;
}

function detailOf(node: LineageNode): string {
  const { repo, commit, path, kind, files, size } = node;
  if (kind === "code") return "code";
  if (!repo || !commit) return node.detail;
  const at = `${shown(repo)}@${shortId(commit)}`;
  if (path && path !== "/") return `${at}:${parted(path)[0]}`;
  const much = [
    typeof files === "number" && plural(files, "file"),
    typeof size === "number" && bytes(size),
  ];
  return [`@${shortId(commit)}`, ...much.filter(Boolean)].join(", ");
}

const boxOf = (id: string, node: LineageNode, root = false): Box => ({
  id,
  kind: kindOf(node),
  title: titleOf(node),
  detail: detailOf(node),
  whole: [node.text, node.detail].filter(Boolean).join(" — "),
  goal: root ? undefined : goalOf(node),
  more: node.more,
  ways: waysOf(node),
  rows: [],
  root,
});

const ROOT = "root";

/** Each place once on each side, however often the tree has it. What is on both sides, such as the
 * files of a folder, stands on both: a line would lead back otherwise.
 */
export function drawPlaces({ root, up, down }: Lineage, direction: Direction): Drawn {
  const boxes = new Map<string, Box>([[ROOT, boxOf(ROOT, root, true)]]);
  const lines = new Map<string, Line>();
  const add = (nodes: LineageNode[], above: string, side: "up" | "down") =>
    nodes.forEach((node, n) => {
      const place = node.repo
        ? `${node.kind} ${full(node.repo)} ${node.commit} ${node.path ?? ""}`
        : `${above} ${n}`;
      const id = `${side} ${place}`;
      if (!boxes.has(id) || !node.seen) boxes.set(id, boxOf(id, node));
      const [source, target] = side === "up" ? [id, above] : [above, id];
      if (source !== target) lines.set(`${source} > ${target}`, { source, target });
      add(node.below, id, side);
    });
  if (direction !== "down") add(up, ROOT, "up");
  if (direction !== "up") add(down, ROOT, "down");
  return { boxes: [...boxes.values()], lines: [...lines.values()] };
}

function branchOf(node: LineageNode, id: string): Branch {
  return {
    id,
    text: node.text,
    detail: node.detail,
    goal: goalOf(node),
    more: node.more,
    below: node.below.map((one, n) => branchOf(one, `${id}.${n}`)),
  };
}

export const tellPlaces = ({ up, down }: Lineage): Told => ({
  up: up.map((one, n) => branchOf(one, `up.${n}`)),
  down: down.map((one, n) => branchOf(one, `down.${n}`)),
});

export interface InputChange {
  id: string;
  what: string;
  node: LineageNode;
  /** What it was, and is: commits, or versions of code. Empty where it had no part. */
  old: LineageNode[];
  new: LineageNode[];
}

function inputsOf(nodes: LineageNode[], found = new Map<string, LineageNode[]>()) {
  for (const node of nodes) {
    if (node.repo && node.commit) {
      const id = `${node.kind} ${full(node.repo)} ${node.path ?? ""}`;
      const known = found.get(id) ?? [];
      if (!known.some((one) => one.commit === node.commit)) found.set(id, [...known, node]);
    }
    inputsOf(node.below, found);
  }
  return found;
}

/** Which inputs two versions of one thing were not made from alike, and how many are the same. */
export function changedInputs(
  old: Lineage,
  now: Lineage,
): { changed: InputChange[]; same: number } {
  const [before, after] = [inputsOf(old.up), inputsOf(now.up)];
  const changed: InputChange[] = [];
  let same = 0;
  for (const id of new Set([...after.keys(), ...before.keys()])) {
    const [was, is] = [before.get(id) ?? [], after.get(id) ?? []];
    const text = (nodes: LineageNode[]) =>
      nodes
        .map((one) => one.commit)
        .sort()
        .join();
    const node = is[0] ?? was[0];
    if (text(was) === text(is)) same += 1;
    else if (node)
      changed.push({
        id,
        what: `${shown(node.repo ?? { project: "", repo: "" })}${node.path ? `:${node.path}` : ""}`,
        node,
        old: was,
        new: is,
      });
  }
  return { changed, same };
}
