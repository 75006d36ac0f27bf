import { useMemo } from "react";
import type { CheckRecord, RepoName } from "~/api/types";
import { count, exactly, shortId } from "~/lib/format";
import { paths } from "~/lib/names";
import { useParam } from "~/lib/url";
import { DataGrid } from "~/ui/DataGrid";
import { Link } from "~/ui/Link";
import { Panel } from "~/ui/Page";
import { State, StateIcon, toneOf } from "~/ui/State";
import { Time } from "~/ui/Time";
import styles from "./Checks.module.css";
import { type RuleHistory, sampleOf } from "./rules";

const HIGH = 39;

/** One rule: its state in each job, how many rows broke it, and some of those. */
export function RulePanel({
  name,
  rule,
  types,
}: {
  name: RepoName;
  rule: RuleHistory;
  /** Of the table's columns, by their names. */
  types: Map<string, string>;
}) {
  const [job, setJob] = useParam("job");
  const chosen = rule.records.find((one) => one.job === job) ?? rule.last;
  const most = Math.max(1, ...rule.records.map((one) => one.result.broken));
  return (
    <Panel
      title={rule.name}
      actions={
        <>
          <span className="dim">on a broken row: {rule.last.result.action}</span>
          <State state={rule.last.result.state} />
        </>
      }
      padded
    >
      <div className="stack" style={{ gap: "var(--s3)" }}>
        <ul className={styles.strip} aria-label={`Jobs that checked ${rule.name}, oldest first`}>
          {rule.records.map((one) => (
            <li key={one.job}>
              <Job record={one} most={most} chosen={one === chosen} onChoose={setJob} />
            </li>
          ))}
        </ul>
        <p className={styles.said}>
          <Link to={`${paths.job(name, chosen.job)}?tab=checks`} className="mono">
            {shortId(chosen.job)}
          </Link>
          , <Time at={chosen.at} />: {chosen.result.said}
        </p>
        {chosen.result.samples.length > 0 && (
          <FailingRows rule={rule.name} samples={chosen.result.samples} types={types} />
        )}
      </div>
    </Panel>
  );
}

function Job({
  record: { job, at, result },
  most,
  chosen,
  onChoose,
}: {
  record: CheckRecord;
  most: number;
  chosen: boolean;
  onChoose: (job: string) => void;
}) {
  const height = result.broken === 0 ? 0 : Math.max(3, (result.broken / most) * HIGH);
  const words = `${result.state}, ${count(result.broken)} of ${count(result.rows)} rows broken, ${exactly(at)}`;
  return (
    <button
      type="button"
      className={styles.job}
      aria-pressed={chosen}
      aria-label={words}
      title={words}
      onClick={() => onChoose(job)}
    >
      <span className={styles.broken} aria-hidden>
        <i style={{ height, background: `var(--${toneOf(result.state)})` }} />
      </span>
      <StateIcon state={result.state} size={14} />
    </button>
  );
}

function FailingRows({
  rule,
  samples,
  types,
}: {
  rule: string;
  samples: string[];
  types: Map<string, string>;
}) {
  const { columns, rows } = useMemo(() => sampleOf(samples), [samples]);
  const known = useMemo(() => columns.map((one) => types.get(one) ?? ""), [columns, types]);
  return (
    <div style={{ height: Math.max(160, 62 + rows.length * 28) }}>
      <DataGrid
        label={`Rows that broke ${rule}`}
        columns={columns}
        types={known}
        count={rows.length}
        row={(index) => rows[index]}
      />
    </div>
  );
}
