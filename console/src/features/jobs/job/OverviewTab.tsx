import { useQuery } from "@tanstack/react-query";
import { isOver, jobQueries } from "~/api/jobs";
import type { Job } from "~/api/types";
import { bytes, count, exactly, shortId } from "~/lib/format";
import { paths } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { Lasting, Time } from "~/ui/Time";
import { DatumBar } from "../DatumBar";
import { countsInWords, unitOf } from "../words";
import { Deliveries } from "./Deliveries";
import { Inputs } from "./Inputs";
import styles from "./OverviewTab.module.css";
import { TimesBar } from "./TimesBar";

/** Why it ran, what it read and wrote, and where its time went. */
export function OverviewTab({ job }: { job: Job }) {
  const why = useQuery(jobQueries.why(job.pipeline, job.id));
  const counts = job.counts;
  return (
    <div className={styles.columns}>
      <div className="stack">
        <Panel title={isOver(job) ? "Why it ran, and what came of it" : "Why it runs"} padded>
          <Answer of={why}>
            {({ lines }) => (
              <ul className={styles.why}>
                {lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
            )}
          </Answer>
        </Panel>
        <Panel title="What it read">
          <Inputs job={job} />
        </Panel>
        <Panel title="Where its time went" padded>
          <TimesBar job={job} />
        </Panel>
        <Deliveries job={job} />
      </div>
      <div className="stack">
        <Panel title="What it did" padded>
          <Facts
            facts={[
              [capital(unitOf(job)[1]), <DatumBar key="d" job={job} />],
              ["In words", countsInWords(job)],
              ["Rows in", number(counts?.rows_in)],
              ["Rows out", number(counts?.rows_out)],
              // What Spark reads by itself is counted in rows.
              ["Data in", counts?.bytes_in ? bytes(counts.bytes_in) : undefined],
              ["Data out", bytes(counts?.bytes_out ?? 0)],
              ["Output", <Output key="o" job={job} />],
            ]}
          />
        </Panel>
        <Panel title="Facts" padded>
          <Facts
            facts={[
              [
                "Version",
                <Link key="v" to={codeOf(job)}>
                  {job.version} <span className="dim">(its code)</span>
                </Link>,
              ],
              ["Branch", job.branch],
              ["Environment", job.environment || undefined],
              ["Created", <Moment key="c" at={job.created} />],
              ["Started", job.started && <Moment at={job.started} />],
              ["Finished", job.finished && <Moment at={job.finished} />],
              ["Waited", <Lasting key="w" from={job.created} to={job.started ?? job.finished} />],
              ["Took", job.started && <Lasting from={job.started} to={job.finished} />],
              ["Attempt", job.attempt ? String(job.attempt) : undefined],
              ["Worker", job.worker && <span className="mono">{job.worker}</span>],
              [
                "Spark",
                job.spark_application && <span className="mono">{job.spark_application}</span>,
              ],
              ["Spark jobs", counts?.spark_jobs?.length ? counts.spark_jobs.join(", ") : undefined],
              ["Priority", job.priority ? String(job.priority) : undefined],
              ["Backfill", job.backfill && <span className="mono">{shortId(job.backfill)}</span>],
              [
                "ID",
                <span key="i" className="mono">
                  {job.id}
                </span>,
              ],
            ]}
          />
        </Panel>
        {job.is_stream && (
          <ButtonLink to={paths.stream(job.pipeline)}>The stream and its batches</ButtonLink>
        )}
      </div>
    </div>
  );
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const number = (n: number | null | undefined) =>
  n === null || n === undefined ? undefined : count(n);

/** A pipeline's spec and code at a version are in a repo beside it. */
const codeOf = (job: Job): string =>
  `${paths.repo({ ...job.pipeline, repo: `${job.pipeline.repo}.code` })}?at=v${job.version}`;

const Moment = ({ at }: { at: string }) => (
  <>
    {exactly(at)}{" "}
    <span className="dim">
      (<Time at={at} />)
    </span>
  </>
);

function Output({ job }: { job: Job }) {
  if (!job.output_commit) return <span className="dim">none</span>;
  return (
    <Link to={`${paths.repo(job.pipeline)}?at=${job.output_commit}`}>
      {job.pipeline.repo}
      <span className="mono">@{shortId(job.output_commit)}</span>
    </Link>
  );
}
