import type { Job } from "~/api/types";
import { seconds } from "~/lib/format";
import styles from "./OverviewTab.module.css";

/** What the datums spent their time on. They run beside each other, so it may exceed the job's own. */
export function TimesBar({ job }: { job: Job }) {
  const { download = 0, process = 0, upload = 0 } = job.counts ?? {};
  const total = download + process + upload;
  if (total === 0)
    return <p className="dim">No times were kept: nothing was computed to its end.</p>;
  const parts = [
    ["Fetching inputs", download, styles.download],
    ["Working", process, styles.process],
    ["Storing outputs", upload, styles.upload],
  ] as const;
  return (
    <>
      <div className={styles.times} aria-hidden>
        {parts.map(([name, spent, look]) =>
          spent > 0 ? (
            <i key={name} className={look} style={{ width: `${(spent / total) * 100}%` }} />
          ) : null,
        )}
      </div>
      <ul className={styles.legend}>
        {parts.map(([name, spent, look]) => (
          <li key={name}>
            <i className={look} aria-hidden /> {name} <b className="num">{seconds(spent)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}
