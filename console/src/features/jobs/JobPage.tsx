import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { jobQueries } from "~/api/jobs";
import type { Job } from "~/api/types";
import { shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { Answer } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { State } from "~/ui/State";
import { type Tab, Tabs } from "~/ui/Tabs";
import { JobActions } from "./JobActions";
import { ChecksTab } from "./job/ChecksTab";
import { DatumsTab } from "./job/DatumsTab";
import { OverviewTab } from "./job/OverviewTab";
import { LogsTab } from "./logs/LogsTab";
import { causeInWords } from "./words";

/** One pipeline in one commit set. */
export default function JobPage() {
  const { project = "", repo = "", id = "" } = useParams();
  const name = { project, repo };
  const found = useQuery(jobQueries.one(name, id));
  const job = found.data;
  return (
    <Page
      title={`${shown(name)}@${shortId(job?.id ?? id)}`}
      crumbs={[
        { to: "/jobs", text: "Jobs" },
        { to: `/jobs?pipeline=${encodeURIComponent(`${project}/${repo}`)}`, text: shown(name) },
      ]}
      heading={
        <>
          {shown(name)} <span className="mono dim">{shortId(job?.id ?? id)}</span>
          {job && <State state={job.state} />}
        </>
      }
      about={job && causeInWords(job.cause)}
      actions={
        <>
          <ButtonLink to={paths.set(job?.id ?? id)}>Open set</ButtonLink>
          <ButtonLink to={paths.pipeline(name)}>Open pipeline</ButtonLink>
          {job && <JobActions job={job} />}
        </>
      }
      full
    >
      <Answer of={found}>
        {(now) => (
          <Tabs
            label="About the job"
            full
            clears={["state", "datum", "find", "show"]}
            tabs={tabsOf(now)}
          />
        )}
      </Answer>
    </Page>
  );
}

function tabsOf(job: Job): Tab[] {
  return [
    { id: "overview", title: "Overview", body: () => <OverviewTab job={job} /> },
    // A stream's work is its batches, which its own screen shows.
    ...(job.is_stream
      ? []
      : [{ id: "datums", title: "Datums", body: () => <DatumsTab job={job} /> }]),
    { id: "logs", title: "Logs", body: () => <LogsTab job={job} /> },
    { id: "checks", title: "Checks", body: () => <ChecksTab job={job} /> },
  ];
}
