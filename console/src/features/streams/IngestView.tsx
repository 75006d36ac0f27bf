import { useQuery } from "@tanstack/react-query";
import { flowQueries } from "~/api/flows";
import type { IngestStatus, RepoName } from "~/api/types";
import { count, seconds } from "~/lib/format";
import { paths } from "~/lib/names";
import { Link } from "~/ui/Link";
import { Facts, Panel, Stat } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { BatchCharts } from "./BatchCharts";
import { BatchesTab } from "./BatchesTab";
import { FlowPage } from "./FlowPage";
import { positionText, rateText } from "./figures";
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
          ["Held by", i.worker ?? "no worker"],
        ]}
      />
    </Panel>
  );
}

export function IngestView({ name }: { name: RepoName }) {
  const ingest = useQuery(flowQueries.ingest(name));
  const found = useBatches(name);
  return (
    <FlowPage
      name={name}
      of={ingest}
      about={ingest.data?.source}
      figures={(one) => <Figures of={one} />}
      tabs={(one) => [
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
  );
}
