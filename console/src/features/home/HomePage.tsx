import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { accessQueries } from "~/api/access";
import { overviewQueries } from "~/api/overview";
import { useMoment } from "~/features/moment/useMoment";
import { Answer, Note } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { Broken, Failed, Late, Undelivered } from "./Attention";
import { Changes } from "./Changes";
import { Figures } from "./Figures";
import styles from "./Home.module.css";
import { JobsOfMoment, Running } from "./Running";
import { Start } from "./Start";

/** What happens in the lake, what went wrong, and what changed last. */
export default function HomePage() {
  const moment = useMoment();
  const overview = useQuery(overviewQueries.at(moment));
  const sets = useInfiniteQuery(overviewQueries.sets());
  return (
    <Page
      title="Home"
      about={
        moment ? "The lake as it was at this moment." : "What runs, what needs you, what changed."
      }
    >
      <Answer of={overview}>
        {({ nodes }) =>
          nodes.length === 0 && !moment ? (
            <Start />
          ) : (
            <>
              <Workerless />
              <Figures nodes={nodes} sets={sets.data} />
              <div className={styles.columns}>
                <div className="stack">
                  <Failed nodes={nodes} />
                  {!moment && <Undelivered />}
                  {moment ? <JobsOfMoment id={moment} /> : <Running />}
                  <Late nodes={nodes} />
                  <Broken nodes={nodes} />
                </div>
                <Changes query={sets} nodes={nodes} moment={moment} />
              </div>
            </>
          )
        }
      </Answer>
    </Page>
  );
}

/** Without a worker jobs wait, and one would wonder why. */
function Workerless() {
  const info = useQuery(accessQueries.info());
  if (!info.data || info.data.workers > 0) return null;
  return (
    <Note>
      No worker is at work: jobs wait, and schedules and streams stand still. Start one with{" "}
      <code>trunkline serve --workers 1</code> or <code>trunkline worker</code>.
    </Note>
  );
}
