import styles from "./History.module.css";
import type { Line, Row } from "./lanes";

export const ROW = 46;
const GAP = 14;
const MOST = 12;
const COLORS = ["accent", "busy", "stream", "wait", "good", "bad"];

const x = (lane: number): number => Math.min(lane, MOST) * GAP + 10;
const color = (lane: number): string => `var(--${COLORS[lane % COLORS.length]})`;

export const graphWidth = (lanes: number): number => x(lanes - 1) + 10;

function curve({ from, to }: Line, top: number, bottom: number): string {
  const [a, b] = [x(from), x(to)];
  if (a === b) return `M${a} ${top}V${bottom}`;
  const middle = (top + bottom) / 2;
  return `M${a} ${top}C${a} ${middle} ${b} ${middle} ${b} ${bottom}`;
}

/** A row's piece of the graph. The text beside it says the same in words. */
export function Graph({ row, width, merge }: { row: Row; width: number; merge: boolean }) {
  return (
    <svg width={width} height={ROW} className={styles.graph} aria-hidden>
      {row.above.map((line, n) => (
        <path key={`a${n}`} d={curve(line, 0, ROW / 2)} stroke={color(line.color)} />
      ))}
      {row.below.map((line, n) => (
        <path key={`b${n}`} d={curve(line, ROW / 2, ROW)} stroke={color(line.color)} />
      ))}
      <circle
        cx={x(row.lane)}
        cy={ROW / 2}
        r={merge ? 5 : 4}
        fill={merge ? "var(--surface)" : color(row.lane)}
        stroke={color(row.lane)}
      />
    </svg>
  );
}
