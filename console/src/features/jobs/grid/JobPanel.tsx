import { X } from "lucide-react";
import type { Job } from "~/api/types";
import { count, shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Button, ButtonLink } from "~/ui/Button";
import { Link, PipelineLink } from "~/ui/Link";
import { Facts } from "~/ui/Page";
import { State } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import { DatumBar } from "../DatumBar";
import { JobActions } from "../JobActions";
import { causeInWords, unitOf } from "../words";
import styles from "./JobsGrid.module.css";

const rows = (n: number | null | undefined) =>
  n === null || n === undefined ? undefined : count(n);

/** The job that was chosen in the grid. */
export function JobPanel({ job, onClose }: { job: Job; onClose: () => void }) {
  const to = paths.job(job.pipeline, job.id);
  return (
    <aside className={styles.panel} aria-label={`Job of ${shown(job.pipeline)}`}>
      <div className="row">
        <h2 className="clip grow">{shown(job.pipeline)}</h2>
        <Button small kind="ghost" icon={X} label="Close" onClick={onClose} />
      </div>
      <div>
        <State state={job.state} />
      </div>
      {job.reason && <p className={styles.reason}>{job.reason}</p>}
      <Facts
        facts={[
          ["Why", causeInWords(job.cause)],
          ["Pipeline", <PipelineLink key="p" name={job.pipeline} />],
          [
            "Set",
            <Link key="s" to={paths.set(job.id)} className="mono">
              {shortId(job.id)}
            </Link>,
          ],
          ["Created", <Time key="c" at={job.created} />],
          ["Waited", <Lasting key="w" from={job.created} to={job.started ?? job.finished} />],
          ["Took", job.started && <Lasting from={job.started} to={job.finished} />],
          [unitOf(job)[1].replace(/^./, (c) => c.toUpperCase()), <DatumBar key="d" job={job} />],
          ["Rows in", rows(job.counts?.rows_in)],
          ["Rows out", rows(job.counts?.rows_out)],
        ]}
      />
      <div className="row wrap">
        <ButtonLink small kind="primary" to={to}>
          Open
        </ButtonLink>
        <ButtonLink small to={`${to}?tab=logs`}>
          Logs
        </ButtonLink>
        <JobActions job={job} small />
      </div>
    </aside>
  );
}
