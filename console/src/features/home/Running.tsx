import { useQuery } from "@tanstack/react-query";
import { jobQueries } from "~/api/jobs";
import { statusQueries } from "~/api/status";
import type { Job } from "~/api/types";
import { causeInWords, countsInWords } from "~/features/jobs/words";
import { full, paths, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { StateIcon } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import styles from "./Home.module.css";
import { Shelf } from "./Shelf";

const ORDER = ["running", "finishing", "waiting", "created"];
const order = (a: Job, b: Job) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state);

/** The jobs that run and wait, now. */
export function Running() {
  const jobs = useQuery(statusQueries.running());
  return (
    <Answer of={jobs}>
      {(all) => (
        <Shelf
          title="Running now"
          items={[...all].sort(order)}
          calm="Nothing runs and nothing waits."
          more={<Link to="/jobs">All jobs</Link>}
        >
          {(job) => <OneJob key={full(job.pipeline) + job.id} job={job} />}
        </Shelf>
      )}
    </Answer>
  );
}

/** The jobs of the change that is looked at. */
export function JobsOfMoment({ id }: { id: string }) {
  const jobs = useQuery(jobQueries.ofSet(id));
  return (
    <Answer of={jobs}>
      {(all) => (
        <Shelf
          title="Jobs of this change"
          items={all}
          calm="This change started no jobs."
          more={<Link to={paths.set(id)}>The whole change</Link>}
        >
          {(job) => <OneJob key={full(job.pipeline) + job.id} job={job} />}
        </Shelf>
      )}
    </Answer>
  );
}

function OneJob({ job }: { job: Job }) {
  return (
    <li className={styles.item}>
      <StateIcon state={job.state} />
      <div className={styles.body}>
        <Link to={paths.job(job.pipeline, job.id)}>{shown(job.pipeline)}</Link>{" "}
        <span className="dim">{causeInWords(job.cause)}</span>
        <p>{job.counts.total > 0 ? countsInWords(job) : job.state}</p>
      </div>
      <div className={styles.side}>
        {job.started ? (
          <Lasting from={job.started} to={job.finished} />
        ) : (
          <span>
            since <Time at={job.created} />
          </span>
        )}
      </div>
    </li>
  );
}
