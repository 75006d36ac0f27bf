import { useQuery } from "@tanstack/react-query";
import { Table2, Workflow } from "lucide-react";
import { flowQueries } from "~/api/flows";
import type { IngestStatus, RepoName } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { count, seconds } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer, Note } from "~/ui/Messages";
import { Facts, Page, Panel, Stat } from "~/ui/Page";
import { State } from "~/ui/State";
import { Tabs } from "~/ui/Tabs";
import { Time } from "~/ui/Time";
import { BatchCharts } from "./BatchCharts";
import { BatchesTab } from "./BatchesTab";
import { positionText, rateText } from "./figures";
import { PauseButton } from "./PauseButton";
import { Reason } from "./Reason";
import { SendRows } from "./SendRows";
import styles from "./Streams.module.css";
import { useBatches } from "./useBatches";

function Figures({ of: i }: { of: IngestStatus }) {
  return (
    <div className={styles.stats}>
      <Stat value={rateText(i.speed.rows_per_second)} name="rows/s" />
      <Stat value={count(i.rows)} name={`rows in epoch ${i.epoch}`} />
      <Stat
        value={count(i.malformed)}
        name={
          i.malformed > 0 ? (
            <Link to={`${paths.table(i.name)}?tab=checks`}>malformed rows</Link>
          ) : (
            "malformed rows"
          )
        }
      />
      <Stat value={i.batch} name="commits" />
      <Stat value={<Time at={i.last?.at} />} name="last commit" />
    </div>
  );
}

function Source({ of: i }: { of: IngestStatus }) {
  return (
    <Panel title="Source" padded>
      <Facts
        facts={[
          ["Reads", i.source],
          ["Commits", `every ${seconds(i.interval)}, if there is something`],
          ["Read up to", positionText(i.position ?? {})],
          ...Object.entries(i.facts ?? {}).map(([name, value]): [string, string] => [
            name,
            typeof value === "number" ? count(value) : String(value),
          ]),
          ["Held by", i.holder ?? "no worker"],
        ]}
      />
    </Panel>
  );
}

export function IngestView({ name }: { name: RepoName }) {
  const ingest = useQuery(flowQueries.ingest(name));
  const found = useBatches(name);
  const moment = useMoment();
  const status = ingest.data;
  return (
    <Page
      title={shown(name)}
      heading={
        <>
          {shown(name)} {status && <State state={status.state} />}
        </>
      }
      crumbs={[{ to: "/streams", text: "Streams" }]}
      about={status?.source}
      actions={
        <>
          {status && !moment && (
            <PauseButton
              name={name}
              paused={status.state === "paused"}
              onDone={() => ingest.refetch()}
            />
          )}
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
      <Answer of={ingest}>
        {(one) => (
          <>
            <Figures of={one} />
            <Tabs
              label={`About ${shown(name)}`}
              tabs={[
                {
                  id: "overview",
                  title: "Overview",
                  body: () => (
                    <div className="stack">
                      <div className={styles.halves}>
                        <Source of={one} />
                        {one.source.startsWith("http") && <SendRows name={name} />}
                      </div>
                      <BatchCharts batches={found.batches} ingest />
                    </div>
                  ),
                },
                {
                  id: "batches",
                  title: "Batches",
                  body: () => <BatchesTab name={name} of={found} />,
                },
              ]}
            />
          </>
        )}
      </Answer>
    </Page>
  );
}
