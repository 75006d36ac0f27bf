import type * as Library from "@observablehq/plot";
import { useCallback } from "react";
import type { Batch } from "~/api/types";
import { briefly, compact, count, seconds } from "~/lib/format";
import { Chart } from "~/ui/chart/Chart";
import { Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { batchText, speedOf } from "./figures";
import styles from "./Streams.module.css";

interface Figure {
  title: string;
  value: (batch: Batch) => number;
  text: (value: number) => string;
  colour: string;
  /** Counted in ones: no halves on the axis. */
  few?: boolean;
}

const SPEED: Figure = {
  title: "Rows per second",
  value: speedOf,
  text: (n) => compact(n),
  colour: "var(--accent)",
};
const TOOK: Figure = {
  title: "Batch time",
  value: (one) => one.seconds,
  text: seconds,
  colour: "var(--busy)",
};
const LATE: Figure = {
  title: "Late rows",
  value: (one) => one.late,
  text: count,
  colour: "var(--wait)",
  few: true,
};
const STATE: Figure = {
  title: "Rows in state",
  value: (one) => one.state_rows,
  text: (n) => compact(n),
  colour: "var(--stream)",
};
const ROWS: Figure = {
  title: "Rows in",
  value: (one) => one.rows_in,
  text: (n) => compact(n),
  colour: "var(--accent)",
};
const MALFORMED: Figure = {
  title: "Malformed rows",
  value: (one) => one.malformed,
  text: count,
  colour: "var(--wait)",
  few: true,
};

/** What a chart shows, for those who do not see it. */
export function batchesInWords(
  title: string,
  values: number[],
  text: (n: number) => string,
): string {
  return `${title} over ${values.length} batches: last ${text(values.at(-1) ?? 0)}, most ${text(Math.max(0, ...values))}.`;
}

function BatchChart({ batches, figure }: { batches: Batch[]; figure: Figure }) {
  const points = batches
    .filter((one) => one.at)
    .map((one) => ({ at: new Date(one.at ?? 0), value: figure.value(one), batch: one }))
    .reverse();
  const most = Math.max(0, ...points.map((one) => one.value));
  const signature = JSON.stringify(points.map((one) => [one.batch.commit, one.value]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the signature stands for the points
  const draw = useCallback(
    (plot: typeof Library) => ({
      marginLeft: 56,
      x: { type: "time" as const, label: null },
      y: {
        label: null,
        grid: true,
        // All zero has no height, and lines would go through the whole of the chart.
        domain: [0, most || 1],
        nice: true,
        ticks: figure.few ? Math.min(4, Math.max(1, most)) : 4,
        tickFormat: (n: number) => figure.text(n),
      },
      marks: [
        plot.ruleY([0], { stroke: "var(--line-strong)" }),
        plot.ruleX(points, { x: "at", y: "value", stroke: figure.colour, strokeWidth: 2 }),
        plot.dot(points, { x: "at", y: "value", fill: figure.colour, r: 3 }),
        plot.tip(
          points,
          plot.pointerX({
            x: "at",
            y: "value",
            fill: "var(--surface)",
            stroke: "var(--line-strong)",
            title: (one: (typeof points)[number]) =>
              `Batch ${batchText(one.batch)}: ${figure.text(one.value)}\n${briefly(one.at.toISOString())}`,
          }),
        ),
      ],
    }),
    [signature, figure],
  );
  const label = batchesInWords(
    figure.title,
    points.map((one) => one.value),
    figure.text,
  );
  return (
    <Panel title={figure.title} padded>
      {points.length > 0 ? (
        <Chart label={label} draw={draw} height={150} />
      ) : (
        <Empty title="No batch yet" />
      )}
    </Panel>
  );
}

/** How the newest batches went. */
export function BatchCharts({ batches, ingest }: { batches: Batch[]; ingest?: boolean }) {
  const figures = ingest ? [ROWS, MALFORMED] : [SPEED, TOOK, LATE, STATE];
  return (
    <div className={styles.charts}>
      {figures.map((one) => (
        <BatchChart key={one.title} batches={batches} figure={one} />
      ))}
    </div>
  );
}
