import { expect, test } from "vitest";
import type { ColumnNode, Hit, Lineage, LineageNode } from "~/api/lineage";
import { drawColumns, tellColumns } from "./columns";
import { heightOf } from "./drawn";
import { arrange } from "./layout";
import { changedInputs, drawPlaces, tellPlaces, waysOf } from "./places";
import { startOf } from "./Start";
import { linesOf, stepOf } from "./Tree";

const repo = (name: string) => ({ project: "default", repo: name });
const place = (name: string, more: Partial<LineageNode> = {}): LineageNode => ({
  text: `${name}@c1`,
  kind: "commit",
  detail: "",
  below: [],
  repo: repo(name),
  commit: "c1",
  seen: false,
  more: 0,
  ...more,
});
const column = (name: string, of: string, more: Partial<ColumnNode> = {}): ColumnNode => ({
  repo: repo(of),
  commit: "c1",
  table: "",
  column: name,
  below: [],
  pipeline: "",
  note: "",
  seen: false,
  hidden: false,
  ...more,
});

/** report is made from revenue and goods, and both of those from orders. */
const REPORT: Lineage = {
  root: place("report"),
  up: [
    place("revenue", { below: [place("orders")] }),
    place("goods", { below: [place("orders", { seen: true, detail: "shown above" })] }),
    { ...place(""), kind: "hidden", repo: null, commit: null, text: "something you may not see" },
  ],
  down: [{ ...place(""), kind: "more", repo: null, commit: null, text: "and 4 more", more: 4 }],
};

test("a place that two others were made from is drawn once", () => {
  const { boxes, lines } = drawPlaces(REPORT, "both");
  expect(boxes.filter((box) => box.title === "orders")).toHaveLength(1);
  expect(lines.filter((line) => line.source.includes("orders"))).toHaveLength(2);
  expect(boxes.find((box) => box.root)?.title).toBe("report");
  expect(boxes.find((box) => box.kind === "more")?.more).toBe(4);
});

test("what is hidden is said to be there and leads nowhere", () => {
  const hidden = drawPlaces(REPORT, "up").boxes.find((box) => box.kind === "hidden");
  expect(hidden).toMatchObject({ title: "something you may not see", goal: undefined, ways: [] });
});

test("one direction leaves out the other", () => {
  expect(drawPlaces(REPORT, "down").boxes.map((box) => box.kind)).toEqual(["commit", "more"]);
  expect(drawPlaces(REPORT, "up").boxes.some((box) => box.kind === "more")).toBe(false);
});

test("files that are on both sides of a folder make no circle", () => {
  const file = place("report", { kind: "file", path: "/a.csv" });
  const root = place("report", { kind: "folder", path: "/" });
  const { lines } = drawPlaces({ root, up: [file], down: [file] }, "both");
  expect(new Set(lines.flatMap((line) => [line.source, line.target])).size).toBe(3);
});

test("places lead to their files, code and datum", () => {
  const made = { pipeline: repo("report"), version: 2, job: "j1", datum: "d&1", path: "/a b" };
  expect(waysOf(place("report", made)).map((way) => way.to)).toEqual([
    "/repos/default/report?at=c1&path=%2Fa+b",
    "/pipelines/default/report?tab=code&v=2",
    "/jobs/default/report/j1?tab=datums&datum=d%261",
  ]);
});

test("two versions are told apart by the commits of their inputs", () => {
  const newer = { ...REPORT, up: [place("revenue", { commit: "c2", below: [place("orders")] })] };
  const { changed, same } = changedInputs(REPORT, newer);
  expect(changed.map((one) => [one.what, one.old.length, one.new.length])).toEqual([
    ["revenue", 1, 1],
    ["goods", 1, 0],
  ]);
  expect(same).toBe(1);
});

const COLUMNS = {
  ref: "report@main",
  columns: [
    column("day", "report", { below: [column("day", "orders")] }),
    column("sum", "report", {
      below: [column("amount", "orders", { note: "its columns are not known" })],
    }),
  ],
  down: [column("day", "report"), column("sum", "report")],
};

test("columns stand in the box of their table, with lines between them", () => {
  const { boxes, lines } = drawColumns(COLUMNS, "both", "sum");
  expect(boxes.map((box) => [box.title, box.rows.map((row) => row.text)])).toEqual([
    ["report", ["day", "sum"]],
    ["orders", ["day", "amount"]],
  ]);
  expect(lines.map((line) => [line.from, line.to])).toEqual([
    ["day", "day"],
    ["amount", "sum"],
  ]);
  expect(boxes[0]?.rows.map((row) => row.chosen)).toEqual([false, true]);
  expect(boxes[1]?.rows[1]?.note).toBe("its columns are not known");
  expect(tellColumns(COLUMNS).down).toEqual([]);
});

test("hidden columns are said to be there", () => {
  const hidden = column("", "", { hidden: true, repo: { project: "", repo: "" }, commit: "" });
  const one = { ref: "", columns: [column("day", "report", { below: [hidden] })], down: [] };
  const { boxes, lines } = drawColumns(one, "up", undefined);
  expect(boxes[1]).toMatchObject({ kind: "hidden", rows: [] });
  expect(lines).toHaveLength(1);
  expect(tellColumns(one).up[0]?.text).toBe("something you may not see");
});

test("sources are left of what is made from them", () => {
  const { boxes, lines } = drawColumns(COLUMNS, "both", undefined);
  const at = arrange({
    boxes: boxes.map((box) => ({ id: box.id, width: 200, height: heightOf(box) })),
    edges: lines.map((line) => [line.source, line.target]),
  });
  const [report, orders] = boxes.map((box) => at[box.id]?.x ?? Number.NaN);
  expect(orders).toBeLessThan(report ?? 0);
});

test("keys walk along the tree, in and out of branches", () => {
  const { up } = tellPlaces(REPORT);
  const lines = linesOf(up, new Set());
  expect(lines.map((line) => line.branch.id)).toEqual(["up.0", "up.0.0", "up.1", "up.1.0", "up.2"]);
  expect(stepOf("ArrowRight", lines, 0)).toBe(1);
  expect(stepOf("ArrowLeft", lines, 0)).toBe("turn");
  expect(stepOf("ArrowLeft", lines, 3)).toBe(2);
  expect(stepOf("End", lines, 0)).toBe(4);
  expect(stepOf("Enter", lines, 2)).toBe("act");
  expect(stepOf("x", lines, 2)).toBeUndefined();
  const shut = linesOf(up, new Set(["up.0"]));
  expect(shut.map((line) => line.branch.id)).toEqual(["up.0", "up.1", "up.1.0", "up.2"]);
  expect(stepOf("ArrowRight", shut, 0)).toBe("turn");
});

test("what was found is where lineage begins", () => {
  const hit = (more: Partial<Hit>): Hit => ({
    kind: "repo",
    repo: repo("orders"),
    text: "orders",
    detail: "",
    ...more,
  });
  const head = () => "main";
  const refOf = (more: Partial<Hit>) =>
    Object.fromEntries(new URL(startOf(hit(more), head), "http://x").searchParams);
  expect(refOf({})).toEqual({ ref: "default/orders@main" });
  expect(refOf({ kind: "tag", text: "v1" })).toEqual({ ref: "default/orders@v1" });
  expect(refOf({ kind: "file", path: "/a:b@c" })).toEqual({ ref: "default/orders@main:/a:b@c" });
  expect(refOf({ kind: "column", path: "/", column: "a&b" })).toEqual({
    ref: "default/orders@main",
    column: "a&b",
  });
});
