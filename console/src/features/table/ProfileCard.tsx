import { Fragment } from "react";
import type { ColumnProfile } from "~/api/tables";
import { count } from "~/lib/format";
import { Histogram, NullBar, TopValues } from "./Bars";
import styles from "./Profile.module.css";
import { histogramBars, share, topBars, valueText } from "./values";

const TOP = 6;
/** Figures of so many letters have room beside each other. */
const SHORT = 9;

function figures(column: ColumnProfile): [string, string][] {
  const known: [string, unknown][] = [
    ["min", column.min],
    ["max", column.max],
    ["mean", column.mean],
    ["std", column.std],
    ...Object.entries(column.quantiles ?? {}).map(([at, value]): [string, unknown] => [
      at === "0.5" ? "median" : `${Math.round(Number(at) * 100)} %`,
      value,
    ]),
  ];
  return [
    ["distinct", `${column.distinct_exact ? "" : "≈ "}${count(column.distinct)}`],
    ...(column.nan ? [["NaN", count(column.nan)] as [string, string]] : []),
    ...known
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]): [string, string] => [name, valueText(value)]),
  ];
}

/** What one column holds. */
export function ProfileFigures({ column }: { column: ColumnProfile }) {
  const { histogram, top, rows, nulls } = column;
  const known = figures(column);
  const long = known.some(([, value]) => value.length > SHORT);
  const unique = rows > 0 && column.distinct === rows - nulls && column.distinct > 1;
  return (
    <>
      <div className={styles.nulls}>
        <NullBar nulls={nulls} rows={rows} />
        <span>
          {nulls === 0 ? "No nulls" : `${share(nulls, rows)} null (${count(nulls)})`}
          {unique && ", all values distinct"}
        </span>
      </div>
      {histogram.length > 0 ? (
        <Histogram bars={histogramBars(histogram)} />
      ) : (
        top.length > 0 && !unique && <TopValues bars={topBars(top.slice(0, TOP))} rows={rows} />
      )}
      <dl className={`${styles.figures} ${long ? styles.long : ""}`}>
        {known.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd className="clip" title={value}>
              {value}
            </dd>
          </Fragment>
        ))}
      </dl>
      {!column.exact && <p className="dim">Quantiles are estimates.</p>}
    </>
  );
}

export function ProfileCard({
  column,
  onOpen,
}: {
  column: ColumnProfile;
  onOpen: (column: string) => void;
}) {
  return (
    <article className={styles.card} aria-label={column.name}>
      <div className={styles.title}>
        <button
          type="button"
          className="clip"
          title={column.name}
          onClick={() => onOpen(column.name)}
        >
          {column.name}
        </button>
        <span className="mono dim clip" title={column.type}>
          {column.type}
        </span>
      </div>
      <ProfileFigures column={column} />
    </article>
  );
}
