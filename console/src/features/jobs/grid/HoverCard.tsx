import type { Job } from "~/api/types";
import { between, exactly, seconds } from "~/lib/format";
import { shown } from "~/lib/names";
import { State } from "~/ui/State";
import { causeInWords, countsInWords } from "../words";
import styles from "./JobsGrid.module.css";

/** A job in a few words: for pointing at it, and for those who do not see it. */
export function factsOf(job: Job): string[] {
  const took = job.started && job.finished ? between(job.started, job.finished) : undefined;
  return [
    job.state,
    exactly(job.created),
    took === undefined ? "" : `took ${seconds(took)}`,
    countsInWords(job),
    causeInWords(job.cause),
    job.reason,
  ].filter(Boolean);
}

const WIDTH = 300;
const ROOM = 170;

/** What is known of the job under the pointer. */
export function HoverCard({ job, place }: { job: Job; place: DOMRect }) {
  const [state, ...rest] = factsOf(job);
  const left = Math.max(8, Math.min(place.left, window.innerWidth - WIDTH - 12));
  const below = place.bottom + ROOM < window.innerHeight;
  return (
    <div
      className={styles.card}
      aria-hidden
      style={{
        left,
        width: WIDTH,
        ...(below ? { top: place.bottom + 6 } : { bottom: window.innerHeight - place.top + 6 }),
      }}
    >
      <div className="row">
        <b className="clip grow">{shown(job.pipeline)}</b>
        <State state={state ?? ""} />
      </div>
      {rest.map((one) => (
        <div key={one}>{one}</div>
      ))}
    </div>
  );
}
