import type * as Library from "@observablehq/plot";
import { useCallback } from "react";
import type { TableVersion } from "~/api/tables";
import { briefly, bytes, compact, count } from "~/lib/format";
import { Chart } from "~/ui/chart/Chart";
import { Empty } from "~/ui/Messages";

interface Point {
  at: Date;
  value: number;
  version: TableVersion;
}

/** What a chart of versions shows, for those who do not see it. */
export function historyInWords(points: { value: number }[], figure: string): string {
  const text = (n: number) => (figure === "size" ? bytes(n) : count(n));
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return `No ${figure}`;
  return `${figure === "size" ? "Size" : "Rows"} over ${points.length} versions: from ${text(first.value)} to ${text(last.value)}.`;
}

/** Rows or bytes of a table over time; versions that changed its columns are marked. */
export function HistoryChart({
  versions,
  figure,
}: {
  versions: TableVersion[];
  figure: "rows" | "size";
}) {
  const points: Point[] = versions
    .filter((one) => !one.error && typeof one.rows === "number")
    .map((version) => ({ at: new Date(version.at), value: version[figure] ?? 0, version }))
    .reverse();
  const signature = JSON.stringify(points.map((one) => [one.at, one.value, one.version.changes]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the signature stands for the points
  const draw = useCallback(
    (plot: typeof Library) => {
      const text = figure === "size" ? bytes : compact;
      const title = ({ at, value, version }: Point) =>
        [
          `${figure === "size" ? bytes(value) : `${count(value)} rows`}, ${briefly(at.toISOString())}`,
          version.message,
          ...version.changes,
        ].join("\n");
      return {
        marginLeft: 56,
        x: { type: "time" as const, label: null },
        y: {
          label: null,
          grid: true,
          domain: [0, Math.max(...points.map((one) => one.value)) || 1],
          nice: true,
          tickFormat: (n: number) => text(n),
          ticks: 5,
        },
        marks: [
          plot.ruleY([0], { stroke: "var(--line-strong)" }),
          plot.ruleX(
            points.filter((one) => one.version.changes.length > 0),
            { x: "at", stroke: "var(--stream)", strokeDasharray: "3,3" },
          ),
          plot.areaY(points, {
            x: "at",
            y: "value",
            curve: "step-after",
            fill: "var(--accent-soft)",
          }),
          plot.lineY(points, { x: "at", y: "value", curve: "step-after", stroke: "var(--accent)" }),
          plot.dot(points, {
            x: "at",
            y: "value",
            r: 3.5,
            fill: (one: Point) =>
              one.version.changes.length > 0 ? "var(--stream)" : "var(--accent)",
          }),
          plot.text(
            points.filter((one) => one.version.changes.length > 0),
            {
              x: "at",
              frameAnchor: "top",
              text: () => "schema",
              fill: "var(--stream)",
              dx: 4,
              textAnchor: "start",
            },
          ),
          plot.tip(
            points,
            plot.pointerX({
              x: "at",
              y: "value",
              title,
              fill: "var(--surface)",
              stroke: "var(--line-strong)",
            }),
          ),
        ],
      };
    },
    [signature, figure],
  );
  if (points.length === 0) return <Empty title="No version can be read" />;
  return <Chart label={historyInWords(points, figure)} draw={draw} height={200} />;
}
