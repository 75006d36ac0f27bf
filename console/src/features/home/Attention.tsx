import { useQuery } from "@tanstack/react-query";
import { jobQueries } from "~/api/jobs";
import { causeInWords } from "~/features/jobs/words";
import { full, paths, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { StateIcon } from "~/ui/State";
import { Time } from "~/ui/Time";
import styles from "./Home.module.css";
import { Shelf } from "./Shelf";
import { broken, checkWords, failed, late, lateWords, type Node, placeOf } from "./troubles";

interface Props {
  nodes: Node[];
}

/** What failed last, and was not mended since. */
export function Failed({ nodes }: Props) {
  return (
    <Shelf
      title="Failed"
      bad
      items={failed(nodes)}
      calm="No pipeline's last job failed."
      more={<Link to="/jobs?state=failure">All failed jobs</Link>}
    >
      {(node) => {
        const job = node.job && node.job.state !== "success" ? node.job : null;
        return (
          <li key={full(node.name)} className={styles.item}>
            <StateIcon state={job?.state ?? node.state} />
            <div className={styles.body}>
              <Link to={placeOf(node)}>{shown(node.name)}</Link>{" "}
              {job && <span className="dim">{causeInWords(job.cause)}</span>}
              <p className={styles.reason}>{job?.reason || "No reason was given."}</p>
            </div>
            <div className={styles.side}>
              <Time at={job?.finished ?? job?.created} />
              {job ? (
                <Link
                  to={paths.job(node.name, job.id)}
                  aria-label={`Why ${shown(node.name)} failed`}
                >
                  Why
                </Link>
              ) : (
                <Link to={placeOf(node)} aria-label={`Why ${shown(node.name)} failed`}>
                  Why
                </Link>
              )}
            </div>
          </li>
        );
      }}
    </Shelf>
  );
}

/** Whose output is older than its input. */
export function Late({ nodes }: Props) {
  return (
    <Shelf title="Behind" items={late(nodes)} calm="Everything is up to date with its inputs.">
      {(node) => (
        <li key={full(node.name)} className={styles.item}>
          <StateIcon state={node.state} />
          <div className={styles.body}>
            <Link to={placeOf(node)}>{shown(node.name)}</Link>
            <p>{lateWords(node)}.</p>
          </div>
          <div className={styles.side}>
            <span>
              last output <Time at={node.head?.at} />
            </span>
          </div>
        </li>
      )}
    </Shelf>
  );
}

/** What was made, and did not get to where it goes; nothing where all of it did. */
export function Undelivered() {
  const found = useQuery(jobQueries.undelivered());
  if (!found.data?.length) return null;
  return (
    <Shelf title="Not delivered" bad items={found.data} calm="">
      {(one) => (
        <li key={`${full(one.pipeline)} ${one.target}`} className={styles.item}>
          <StateIcon state={one.state} />
          <div className={styles.body}>
            <Link to={paths.job(one.pipeline, one.commit)}>{shown(one.pipeline)}</Link>{" "}
            <span className="dim">to {one.target}</span>
            <p className={styles.reason}>{one.reason || "No reason was given."}</p>
          </div>
          <div className={styles.side}>
            <Time at={one.finished ?? one.created} />
            <Link
              to={paths.job(one.pipeline, one.commit)}
              aria-label={`See where ${shown(one.pipeline)} went`}
            >
              See
            </Link>
          </div>
        </li>
      )}
    </Shelf>
  );
}

/** Whose data broke its rules. */
export function Broken({ nodes }: Props) {
  return (
    <Shelf
      title="Checks"
      items={broken(nodes)}
      bad={nodes.some((one) => (one.checks?.failed ?? 0) > 0)}
      calm="The data of every last job kept its rules."
    >
      {(node) => (
        <li key={full(node.name)} className={styles.item}>
          <StateIcon state={node.checks?.failed ? "failed" : "warned"} />
          <div className={styles.body}>
            <Link to={placeOf(node)}>{shown(node.name)}</Link>
            <p>{node.checks && checkWords(node.checks)}.</p>
          </div>
          {node.job && (
            <div className={styles.side}>
              <Time at={node.job.created} />
              <Link
                to={`${paths.job(node.name, node.job.id)}?tab=checks`}
                aria-label={`Checks of ${shown(node.name)}`}
              >
                See the rules
              </Link>
            </div>
          )}
        </li>
      )}
    </Shelf>
  );
}
