import type { Job } from "~/api/types";
import { compact, shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Link, PipelineLink } from "~/ui/Link";
import { State } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import type { SizedColumn } from "~/ui/VirtualTable";
import styles from "./columns.module.css";
import { DatumBar } from "./DatumBar";
import { causeInWords } from "./words";

export type JobColumn =
  | "state"
  | "pipeline"
  | "set"
  | "cause"
  | "created"
  | "waited"
  | "took"
  | "datums"
  | "rows";

/** The branch that nobody needs to be told of. */
const USUAL = "main";

const rows = (n: number | null | undefined) => (n === null || n === undefined ? "–" : compact(n));

/** Rows are known of tables only. */
function rowsThrough(counts: Job["counts"]) {
  const [came, went] = [rows(counts?.rows_in), rows(counts?.rows_out)];
  return came === "–" && went === "–" ? <span className="dim">–</span> : `${came} → ${went}`;
}

const Cause = ({ job }: { job: Job }) => (
  <>
    <div title={job.cause}>{causeInWords(job.cause)}</div>
    {job.reason && (
      <div className={`${styles.reason} ${job.state === "killed" ? "dim" : ""}`} title={job.reason}>
        {job.reason}
      </div>
    )}
  </>
);

/** The columns of every list of jobs. */
export const JOB_COLUMNS: (SizedColumn<Job> & { id: JobColumn })[] = [
  {
    id: "state",
    title: "State",
    width: 124,
    cell: (job) => (
      <Link
        to={paths.job(job.pipeline, job.id)}
        aria-label={`${job.state}: job of ${shown(job.pipeline)}`}
      >
        <State state={job.state} />
      </Link>
    ),
    sort: (job) => job.state,
  },
  {
    id: "pipeline",
    title: "Pipeline",
    width: 170,
    cell: (job) => (
      <div className="clip" title={`${shown(job.pipeline)}@${job.branch}`}>
        <PipelineLink name={job.pipeline} />
        {job.branch !== USUAL && <span className="dim">@{job.branch}</span>}
      </div>
    ),
    sort: (job) => shown(job.pipeline),
  },
  {
    id: "set",
    title: "Set",
    width: 122,
    cell: (job) => (
      <Link to={paths.set(job.id)} className="mono" title={job.id}>
        {shortId(job.id)}
      </Link>
    ),
  },
  { id: "cause", title: "Why", cell: (job) => <Cause job={job} />, wide: true },
  {
    id: "created",
    title: "Created",
    width: 104,
    cell: (job) => <Time at={job.created} />,
    sort: (job) => job.created,
  },
  {
    id: "waited",
    title: "Waited",
    width: 84,
    cell: (job) => <Lasting from={job.created} to={job.started ?? job.finished} />,
    right: true,
  },
  {
    id: "took",
    title: "Took",
    width: 84,
    cell: (job) =>
      job.started ? (
        <Lasting from={job.started} to={job.finished} />
      ) : (
        <span className="dim">–</span>
      ),
    right: true,
  },
  {
    id: "datums",
    title: "Ran, skipped, failed",
    width: 148,
    cell: (job) => <DatumBar job={job} />,
  },
  {
    id: "rows",
    title: "Rows in → out",
    width: 122,
    cell: (job) => rowsThrough(job.counts),
    right: true,
  },
];
