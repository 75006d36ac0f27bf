/** The lineage of columns: tables as boxes, with a row for each column that has a part in it. */
import type { ColumnLineage, ColumnNode } from "~/api/lineage";
import { tablePath } from "~/features/table/place";
import { shortId } from "~/lib/format";
import { full, paths, ref, shown } from "~/lib/names";
import type { Box, Branch, Direction, Drawn, Goal, Line, Told } from "./drawn";
import { makerOf } from "./drawn";

const folderOf = ({ table }: ColumnNode): string => (table ? `/${table}` : "/");

function goalOf(node: ColumnNode): Goal | undefined {
  if (node.hidden) return undefined;
  return { ref: ref(node.repo, node.commit || "main", folderOf(node)), column: node.column };
}

function boxOf(id: string, node: ColumnNode, root: boolean): Box {
  if (node.hidden)
    return {
      id,
      kind: "hidden",
      title: "something you may not see",
      detail: "",
      whole: "something you may not see",
      more: 0,
      ways: [],
      rows: [],
      root: false,
    };
  const path = folderOf(node);
  const name = `${shown(node.repo)}${node.table ? `:${path}` : ""}`;
  const at = node.commit ? `@${shortId(node.commit)}` : "nothing has run yet";
  const maker = makerOf(node.pipeline, node.repo);
  const table = { name: node.repo, path };
  return {
    id,
    kind: "table",
    title: name,
    detail: [at, node.pipeline && `by ${node.pipeline}`].filter(Boolean).join(", "),
    whole: [`${name}${at}`, node.pipeline].filter(Boolean).join(" by "),
    goal: undefined,
    more: 0,
    ways: [
      {
        to: tablePath(table, node.commit ? { at: node.commit } : {}),
        text: "Open the table",
        kind: "open",
      },
      ...(maker
        ? [
            {
              to: `${paths.pipeline(node.repo)}?tab=code&v=${maker.version}`,
              text: `Code of ${node.pipeline}`,
              kind: "code" as const,
            },
          ]
        : []),
    ],
    rows: [],
    root,
  };
}

export function drawColumns(
  { columns, down = [] }: ColumnLineage,
  direction: Direction,
  chosen: string | undefined,
): Drawn {
  const boxes = new Map<string, Box>();
  const lines = new Map<string, Line>();
  let unseen = 0;
  const put = (node: ColumnNode, root: boolean): { box: string; row: string } => {
    if (node.hidden) {
      unseen += 1;
      const id = `hidden ${unseen}`;
      boxes.set(id, boxOf(id, node, false));
      return { box: id, row: "" };
    }
    const id = `${full(node.repo)} ${node.commit} ${node.table}`;
    const box = boxes.get(id) ?? boxOf(id, node, root);
    boxes.set(id, box);
    const known = box.rows.find((one) => one.id === node.column);
    if (known) known.note ||= node.note;
    else
      box.rows.push({
        id: node.column,
        text: node.column,
        note: node.note,
        goal: goalOf(node),
        chosen: root && node.column === chosen,
      });
    return { box: id, row: node.column };
  };
  const walk = (node: ColumnNode, side: "up" | "down", root: boolean) => {
    const here = put(node, root);
    for (const one of node.below) {
      const there = walk(one, side, false);
      const [from, to] = side === "up" ? [there, here] : [here, there];
      const line = { source: from.box, target: to.box, from: from.row, to: to.row };
      if (from.box !== to.box) lines.set(JSON.stringify(line), line);
    }
    return here;
  };
  for (const node of columns) {
    if (direction === "down") put(node, true);
    else walk(node, "up", true);
  }
  if (direction !== "up") for (const node of down) walk(node, "down", true);
  return { boxes: [...boxes.values()], lines: [...lines.values()] };
}

function branchOf(node: ColumnNode, id: string): Branch {
  const at = node.commit ? `@${shortId(node.commit)}` : "";
  return {
    id,
    text: node.hidden
      ? "something you may not see"
      : `${shown(node.repo)}${at}${node.table ? `:${folderOf(node)}` : ""} ${node.column}`,
    detail: [node.pipeline && `by ${node.pipeline}`, node.note, node.seen && "shown above"]
      .filter(Boolean)
      .join(", "),
    goal: goalOf(node),
    more: 0,
    below: node.below.map((one, n) => branchOf(one, `${id}.${n}`)),
  };
}

export function tellColumns({ columns, down = [] }: ColumnLineage): Told {
  const told = (nodes: ColumnNode[], side: string) => {
    const all = nodes.map((one, n) => branchOf(one, `${side}.${n}`));
    // Of one column only what is beyond it is told: which it is stands above.
    if (nodes.length === 1) return all[0]?.below ?? [];
    return all.filter((one) => one.below.length > 0 || one.detail);
  };
  return { up: told(columns, "up"), down: told(down, "down") };
}
