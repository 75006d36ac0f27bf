import type { Job } from "~/api/types";
import { between, plural, seconds } from "~/lib/format";
import { toneOf } from "~/ui/State";
import styles from "./JobBars.module.css";

type Ran = Pick<Job, "id" | "state" | "created" | "started" | "finished">;

export const took = (job: Ran): number => (job.started ? between(job.started, job.finished) : 0);

const LEAST = 3;
const MOST = 20;

/** Heights of bars. By roots, so that one long job does not hide all others. */
export function heights(lengths: number[], highest = MOST): number[] {
  const top = Math.max(...lengths, 0.001);
  return lengths.map((one) => Math.max(LEAST, Math.round(Math.sqrt(one / top) * highest)));
}

/** The last jobs of a pipeline, oldest first: how long each took, and how it ended. */
export function JobBars({ jobs }: { jobs: Ran[] }) {
  if (jobs.length === 0) return <span className="dim">–</span>;
  const states = new Map<string, number>();
  for (const job of jobs) states.set(job.state, (states.get(job.state) ?? 0) + 1);
  const told = [...states].map(([state, n]) => `${n} ${state}`).join(", ");
  const high = heights(jobs.map(took));
  return (
    <span className={styles.bars} role="img" aria-label={`${plural(jobs.length, "job")}: ${told}`}>
      {jobs.map((job, n) => (
        <i
          key={job.id}
          title={`${job.state}, ${seconds(took(job))}`}
          style={{ height: high[n], background: `var(--${toneOf(job.state)})` }}
        />
      ))}
    </span>
  );
}
