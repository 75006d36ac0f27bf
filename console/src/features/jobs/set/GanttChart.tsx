import { useMemo } from "react";
import { isOver } from "~/api/jobs";
import type { Job } from "~/api/types";
import { between, seconds } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { StateIcon, toneOf } from "~/ui/State";
import { useNow } from "~/ui/Time";
import { inGraphOrder } from "../order";
import styles from "./GanttChart.module.css";
import { type Bar, type GanttLine, gantt, ticks } from "./gantt";

const place = ({ from, to }: Bar) => ({
  left: `${from * 100}%`,
  width: `max(2px, ${(to - from) * 100}%)`,
});

/** When each job waited and worked. It goes on by itself while anything runs. */
export function GanttChart({ jobs }: { jobs: Job[] }) {
  return jobs.every(isOver) ? <Drawn jobs={jobs} now={0} /> : <Running jobs={jobs} />;
}

const Running = ({ jobs }: { jobs: Job[] }) => <Drawn jobs={jobs} now={useNow()} />;

function Drawn({ jobs, now }: { jobs: Job[]; now: number }) {
  const ordered = useMemo(() => inOrder(jobs), [jobs]);
  const drawn = useMemo(() => gantt(ordered, now), [ordered, now]);
  const marks = ticks(drawn.seconds);
  return (
    <div className={styles.chart}>
      <div className={styles.legend} aria-hidden>
        <i className={styles.inputs} /> waits for its inputs
        <i className={styles.queue} /> waits for a worker
        <i className={styles.work} /> works
        {drawn.lines.some((line) => line.critical) && (
          <>
            <i className={styles.mark} /> decided when all was done
          </>
        )}
      </div>
      <ul className={styles.lines} aria-label="Jobs over time">
        <li className={styles.axis} aria-hidden>
          <span />
          <div className={styles.track}>
            {marks.map((mark) => (
              <small key={mark} style={{ left: `${(mark / drawn.seconds) * 100}%` }}>
                {mark === 0 ? "0" : seconds(mark)}
              </small>
            ))}
          </div>
          <span />
        </li>
        {drawn.lines.map((line) => (
          <Line key={full(line.job.pipeline)} line={line} now={now} />
        ))}
      </ul>
    </div>
  );
}

function Line({
  line: { job, inputs, queue, work, critical },
  now,
}: {
  line: GanttLine;
  now: number;
}) {
  const waited = between(job.created, job.started ?? job.finished, now);
  const worked = job.started ? between(job.started, job.finished, now) : undefined;
  const said = [
    `waited ${seconds(waited)}`,
    worked === undefined ? "never worked" : `worked ${seconds(worked)}`,
    critical && "decided when all was done",
  ].filter(Boolean);
  return (
    <li className={styles.line}>
      <Link
        to={paths.job(job.pipeline, job.id)}
        className={styles.name}
        title={shown(job.pipeline)}
      >
        <StateIcon state={job.state} size={14} />
        <span className="clip">{shown(job.pipeline)}</span>
        <span className="sr-only">: {said.join(", ")}</span>
      </Link>
      <div className={styles.track} title={said.join(", ")} aria-hidden>
        {inputs.to > inputs.from && (
          <i className={styles.inputs} data-bar="inputs" style={place(inputs)} />
        )}
        {queue.to > queue.from && (
          <i className={styles.queue} data-bar="queue" style={place(queue)} />
        )}
        {work && (
          <i
            className={`${styles.work} ${styles[toneOf(job.state)]} ${critical ? styles.critical : ""}`}
            data-bar="work"
            style={place(work)}
          />
        )}
      </div>
      <span className={styles.took} aria-hidden>
        {worked === undefined ? "–" : seconds(worked)}
      </span>
    </li>
  );
}

function inOrder(jobs: Job[]): Job[] {
  const edges = jobs.flatMap((job) =>
    (job.inputs ?? []).map((input) => ({ source: input.repo, target: job.pipeline })),
  );
  const byName = new Map(jobs.map((job) => [full(job.pipeline), job]));
  return inGraphOrder(
    jobs.map((job) => job.pipeline),
    edges,
  ).map((name) => byName.get(full(name))!);
}
