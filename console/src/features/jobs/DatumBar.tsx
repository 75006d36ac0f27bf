import type { Job } from "~/api/types";
import { compact } from "~/lib/format";
import styles from "./DatumBar.module.css";
import { countsInWords } from "./words";

/** What became of a job's datums: ran, skipped, failed, as shares and as numbers. */
export function DatumBar({ job }: { job: Pick<Job, "counts" | "is_stream"> }) {
  const counts = job.counts;
  const total = counts?.total ?? 0;
  if (!counts || total === 0) return <span className="dim">–</span>;
  const parts = [
    ["ran", (counts.processed ?? 0) + (counts.recovered ?? 0), styles.ran],
    ["skipped", counts.skipped ?? 0, styles.skipped],
    ["failed", counts.failed ?? 0, styles.failed],
  ] as const;
  return (
    <span className={styles.box} title={countsInWords(job)}>
      <span className={styles.bar} aria-hidden>
        {parts.map(([name, n, look]) =>
          n > 0 ? (
            <i key={name} className={look} style={{ width: `${(n / total) * 100}%` }} />
          ) : null,
        )}
      </span>
      <span className={styles.numbers} aria-hidden>
        {parts.map(([name, n]) => (
          <span key={name} className={n > 0 && name === "failed" ? styles.bad : ""}>
            {compact(n)}
          </span>
        ))}
      </span>
      <span className="sr-only">{countsInWords(job)}</span>
    </span>
  );
}
