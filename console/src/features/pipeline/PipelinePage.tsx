import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { useParams } from "react-router";
import { overviewQueries } from "~/api/overview";
import { pipelineQueries } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { same, shown } from "~/lib/names";
import { Answer, Empty, Loading } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { State } from "~/ui/State";
import { Tabs } from "~/ui/Tabs";
import { Actions } from "./actions/Actions";
import { CodeTab } from "./tabs/CodeTab";
import { JobsTab } from "./tabs/JobsTab";
import { OverviewTab } from "./tabs/OverviewTab";
import { ScheduleTab } from "./tabs/ScheduleTab";

const EditTab = lazy(() => import("./tabs/EditTab"));
/** Values of the URL that mean something in one tab only. */
const OWN = ["v", "vs", "file", "sort"];

export default function PipelinePage() {
  const { project = "", repo = "" } = useParams();
  const name: RepoName = { project, repo };
  const moment = useMoment();
  const overview = useQuery(overviewQueries.at(moment));
  const node = overview.data?.nodes.find((one) => same(one.name, name));
  const pipeline = useQuery(pipelineQueries.one(name));
  const title = shown(name);
  const time = overview.data?.time;
  const then = useMemo(() => (moment && time ? { set: moment, time } : undefined), [moment, time]);
  // Until the overview is there nobody knows whether it was there at the moment.
  const wasThere = !moment || !overview.data || (node && node.version !== null);
  return (
    <Page
      title={title}
      heading={
        <>
          {title}
          {node && node.version !== null && <State state={node.state} />}
        </>
      }
      crumbs={[{ to: "/pipelines", text: "Pipelines" }]}
      about={node?.description ?? pipeline.data?.description}
      actions={pipeline.data && !moment && <Actions pipeline={pipeline.data} />}
    >
      <Answer of={pipeline}>
        {(info) =>
          wasThere ? (
            <Tabs
              label="Parts of the pipeline"
              clears={OWN}
              tabs={[
                {
                  id: "overview",
                  title: "Overview",
                  body: () => (
                    <Answer of={overview}>
                      {(lake) => <OverviewTab pipeline={info} overview={lake} moment={moment} />}
                    </Answer>
                  ),
                },
                {
                  id: "code",
                  title: "Code",
                  body: () => <CodeTab pipeline={info} then={node?.version ?? undefined} />,
                },
                {
                  id: "jobs",
                  title: "Jobs",
                  body: () => <JobsTab pipeline={info} then={then} />,
                },
                {
                  id: "schedule",
                  title: "Schedule and backfills",
                  body: () => <ScheduleTab pipeline={info} schedule={node?.schedule ?? ""} />,
                },
                ...(moment
                  ? []
                  : [
                      {
                        id: "edit",
                        title: "Edit",
                        body: () => (
                          <Suspense fallback={<Loading what="Loading the editor" />}>
                            <EditTab name={name} />
                          </Suspense>
                        ),
                      },
                    ]),
              ]}
            />
          ) : (
            <Empty title={`${title} was not there at this moment`}>
              It was made later. Go to another moment, or back to now.
            </Empty>
          )
        }
      </Answer>
    </Page>
  );
}
