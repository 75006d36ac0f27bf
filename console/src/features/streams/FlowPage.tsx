import type { UseQueryResult } from "@tanstack/react-query";
import { Table2, Workflow } from "lucide-react";
import type { ReactNode } from "react";
import type { IngestStatus, RepoName, StreamStatus } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { paths, shown } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { Answer, Note } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { State } from "~/ui/State";
import { type Tab, Tabs } from "~/ui/Tabs";
import { PauseButton } from "./PauseButton";
import { Reason } from "./Reason";

/** The page of a stream or an ingest. What it can do beside pausing is for now, not for the past. */
export function FlowPage<Status extends StreamStatus | IngestStatus>({
  name,
  of,
  about,
  actions,
  figures,
  tabs,
  children,
}: {
  name: RepoName;
  of: UseQueryResult<Status>;
  about?: string | null;
  actions?: ReactNode;
  figures: (status: Status) => ReactNode;
  tabs: (status: Status) => Tab[];
  children?: ReactNode;
}) {
  const moment = useMoment();
  const status = of.data;
  return (
    <Page
      title={shown(name)}
      heading={
        <>
          {shown(name)} {status && <State state={status.state} />}
        </>
      }
      crumbs={[{ to: "/streams", text: "Streams" }]}
      about={about}
      actions={
        <>
          {status && !moment && (
            <PauseButton
              name={name}
              paused={status.state === "paused"}
              onDone={() => of.refetch()}
            />
          )}
          {!moment && actions}
          <ButtonLink icon={Table2} to={paths.table(name)}>
            Table
          </ButtonLink>
          <ButtonLink icon={Workflow} to={paths.pipeline(name)}>
            Pipeline
          </ButtonLink>
        </>
      }
    >
      {moment && <Note>Figures are those of now; batches are those up to the moment.</Note>}
      {status && <Reason of={status} />}
      <Answer of={of}>
        {(one) => (
          <>
            {figures(one)}
            <Tabs label={`About ${shown(name)}`} tabs={tabs(one)} />
          </>
        )}
      </Answer>
      {children}
    </Page>
  );
}
