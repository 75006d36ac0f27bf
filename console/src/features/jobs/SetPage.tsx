import { useQuery } from "@tanstack/react-query";
import { Ban, History } from "lucide-react";
import { useState } from "react";
import { useParams } from "react-router";
import { commitQueries } from "~/api/commits";
import { cancelJob, isOver, jobQueries } from "~/api/jobs";
import type { Commit, Job } from "~/api/types";
import { plural, shortId } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { Button, ButtonLink } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Link, RepoLink } from "~/ui/Link";
import { Answer, Empty } from "~/ui/Messages";
import { Facts, Page, Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import { say } from "~/ui/toast";
import { overall } from "./grid/shape";
import { RerunButton } from "./JobActions";
import { GanttChart } from "./set/GanttChart";
import { origins } from "./set/origins";
import { SetCommits } from "./set/SetCommits";
import { causeInWords } from "./words";

const FAILED = ["failure", "killed"];
/** How the API answers who cancels a job that is over. */
const OVER = 412;

/** One change and all that it caused. */
export default function SetPage() {
  const { id = "" } = useParams();
  const set = useQuery(commitQueries.set(id));
  const known = set.data?.id;
  const jobs = useQuery({ ...jobQueries.ofSet(known ?? id), enabled: known !== undefined });
  const mates = jobs.data ?? [];
  const found = known ?? id;
  const began = origins(set.data?.commits ?? [], mates);
  const state = overall(mates.map((job) => job.state));
  return (
    <Page
      title={`Set ${shortId(found)}`}
      crumbs={[{ to: "/jobs?tab=grid", text: "Jobs" }]}
      heading={
        <>
          Set <span className="mono">{shortId(found)}</span> {state && <State state={state} />}
        </>
      }
      about="A change, and all that was made from it: they share their ID."
      actions={
        <>
          <ButtonLink to={`/graph?moment=${encodeURIComponent(found)}`} icon={History}>
            The lake at this moment
          </ButtonLink>
          {mates.some((job) => FAILED.includes(job.state)) && <RerunButton set={found} />}
          {mates.some((job) => !isOver(job)) && <CancelSet jobs={mates} />}
        </>
      }
    >
      <Answer of={set}>
        {({ commits, sources }) => (
          <>
            <Panel title="What began it" padded>
              <Began commits={began} jobs={mates} />
            </Panel>
            <Panel title={plural(mates.length, "job")}>
              <Answer of={jobs}>
                {(all) =>
                  all.length > 0 ? (
                    <GanttChart jobs={all} />
                  ) : (
                    <Empty title="No pipeline reads what changed, so nothing had to run." />
                  )
                }
              </Answer>
            </Panel>
            <Panel title={plural(commits.length, "commit")}>
              <SetCommits commits={commits} sources={sources} />
            </Panel>
          </>
        )}
      </Answer>
    </Page>
  );
}

function Began({ commits, jobs }: { commits: Commit[]; jobs: Job[] }) {
  const messages = [...new Set(commits.map((one) => one.message).filter(Boolean))];
  const first = commits.map((one) => one.started).sort()[0] ?? jobs[0]?.created;
  const ends = jobs.map((job) => job.finished ?? "");
  const last = ends.every(Boolean) ? ends.sort().at(-1) : undefined;
  const cause = jobs[0]?.cause;
  const failed = jobs.filter((job) => FAILED.includes(job.state) && job.reason);
  return (
    <Facts
      facts={[
        ["Message", messages.length > 0 && messages.length <= 3 ? messages.join(" · ") : undefined],
        ["Why", cause && causeInWords(cause)],
        [
          "Failed",
          failed.length > 0
            ? failed.map((job) => (
                <div key={full(job.pipeline)}>
                  <Link
                    to={paths.job(job.pipeline, job.id)}
                    style={{ textDecoration: "underline" }}
                  >
                    {shown(job.pipeline)}
                  </Link>
                  : {job.reason}
                </div>
              ))
            : undefined,
        ],
        [
          "Where",
          commits.length > 0 && (
            <span className="row wrap">
              {commits.map((one) => (
                <RepoLink key={full(one.repo)} name={one.repo} />
              ))}
            </span>
          ),
        ],
        ["Author", [...new Set(commits.map((one) => one.author).filter(Boolean))].join(", ")],
        ["When", <Time key="t" at={first} />],
        ["Took", jobs.length > 0 && first ? <Lasting key="l" from={first} to={last} /> : undefined],
      ]}
    />
  );
}

/** Stops all jobs of the set that are not over. */
function CancelSet({ jobs }: { jobs: Job[] }) {
  const [asking, setAsking] = useState(false);
  const left = jobs.filter((job) => !isOver(job));
  const stop = async () => {
    // One that waits for another ends with it, which is no failure of ours.
    for (const job of left.filter((one) => one.started)) await cancelJob(job.pipeline, job.id);
    const rest = left.filter((one) => !one.started);
    const done = await Promise.allSettled(rest.map((job) => cancelJob(job.pipeline, job.id)));
    const refused = done.find((one) => one.status === "rejected" && one.reason.status !== OVER);
    if (refused?.status === "rejected") throw refused.reason;
    say("The jobs of the set were cancelled.");
  };
  return (
    <>
      <Button kind="danger" icon={Ban} onClick={() => setAsking(true)}>
        Cancel
      </Button>
      <ActionDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Cancel ${plural(left.length, "job")}?`}
        about={`What is not over stops: ${left.map((job) => shown(job.pipeline)).join(", ")}.`}
        action="Cancel jobs"
        danger
        doing={stop}
      />
    </>
  );
}
