import { count } from "~/lib/format";
import styles from "./Bars.module.css";
import { type Bar, barsInWords, share } from "./values";

const HIGH = 56;

/** Bars side by side: how many values are in each range. */
export function Histogram({ bars }: { bars: Bar[] }) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const [low] = (bars[0]?.label ?? "").split(" – ");
  const [, high] = (bars.at(-1)?.label ?? "").split(" – ");
  return (
    <div>
      <svg
        className={styles.histogram}
        viewBox={`0 0 ${bars.length * 10} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={barsInWords(bars)}
      >
        {bars.map((bar, n) => {
          // What is not nothing can be seen.
          const height = bar.count === 0 ? 0 : Math.max(2, (bar.count / most) * HIGH);
          return (
            <rect key={n} x={n * 10 + 0.5} width={9} y={HIGH - height} height={height}>
              <title>{`${bar.label}: ${count(bar.count)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className={styles.ends} aria-hidden>
        <span className="clip">{low}</span>
        <span className="clip">{high}</span>
      </div>
    </div>
  );
}

/** The values that there are most of. */
export function TopValues({ bars, rows }: { bars: Bar[]; rows: number }) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  return (
    <ol className={styles.top} aria-label="Most frequent values">
      {bars.map((bar) => (
        <li key={bar.label} title={`${bar.label}: ${count(bar.count)}, ${share(bar.count, rows)}`}>
          <i style={{ width: `${(100 * bar.count) / most}%` }} />
          <span className="clip grow mono">{bar.label === "" ? "(empty)" : bar.label}</span>
          <span className="num">{share(bar.count, rows)}</span>
        </li>
      ))}
    </ol>
  );
}

export function NullBar({ nulls, rows }: { nulls: number; rows: number }) {
  return (
    <span className={styles.nulls} aria-hidden>
      <i style={{ width: `${rows ? (100 * nulls) / rows : 0}%` }} />
    </span>
  );
}
