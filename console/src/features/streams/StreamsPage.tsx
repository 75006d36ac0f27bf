import { useQuery } from "@tanstack/react-query";
import { Waves } from "lucide-react";
import { flowQueries } from "~/api/flows";
import type { IngestStatus, StreamStatus } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { bytes, count } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { useParam } from "~/lib/url";
import { SearchBox } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty, Note } from "~/ui/Messages";
import { Page, Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { batchText, lagOf, lagText, rateText } from "./figures";

type Flow = StreamStatus | IngestStatus;

const name: Column<Flow> = {
  id: "name",
  title: "Name",
  cell: (f) => <Link to={paths.stream(f.name)}>{shown(f.name)}</Link>,
  sort: (f) => shown(f.name),
};
const state: Column<Flow> = {
  id: "state",
  title: "State",
  cell: (f) => (
    <span title={f.reason}>
      <State state={f.state} />
    </span>
  ),
  sort: (f) => f.state,
};
const rate: Column<Flow> = {
  id: "rate",
  title: "Rows/s",
  cell: (f) => rateText(f.speed.rows_per_second),
  sort: (f) => f.speed.rows_per_second,
  right: true,
};
const malformed: Column<Flow> = {
  id: "malformed",
  title: "Malformed",
  cell: (f) => <Worry n={f.malformed} />,
  sort: (f) => f.malformed,
  right: true,
};
const last: Column<Flow> = {
  id: "last",
  title: "Last batch",
  cell: (f) =>
    f.last ? (
      <>
        {batchText(f.last)}, <Time at={f.last.at} />
      </>
    ) : (
      <span className="dim">none yet</span>
    ),
  sort: (f) => f.last?.at ?? "",
  right: true,
};

/** A number that should be zero. */
const Worry = ({ n }: { n: number }) => (
  <span style={n > 0 ? { color: "var(--wait)", fontWeight: 550 } : undefined}>{count(n)}</span>
);

const STREAMS: Column<StreamStatus>[] = [
  name as Column<StreamStatus>,
  state as Column<StreamStatus>,
  { id: "trigger", title: "Trigger", cell: (s) => s.trigger, wide: true },
  rate as Column<StreamStatus>,
  {
    id: "lag",
    title: "Lag",
    cell: (s) => lagText(lagOf(s.inputs)),
    sort: (s) => lagOf(s.inputs).seconds,
    right: true,
  },
  { id: "watermark", title: "Watermark", cell: (s) => <Time at={s.watermark} />, right: true },
  {
    id: "late",
    title: "Late",
    cell: (s) => <Worry n={s.late} />,
    sort: (s) => s.late,
    right: true,
  },
  malformed as Column<StreamStatus>,
  {
    id: "kept",
    title: "Kept state",
    cell: (s) => `${count(s.state_rows)}, ${bytes(s.state_bytes)}`,
    sort: (s) => s.state_bytes,
    right: true,
  },
  last as Column<StreamStatus>,
];

const INGESTS: Column<IngestStatus>[] = [
  name as Column<IngestStatus>,
  state as Column<IngestStatus>,
  { id: "source", title: "Source", cell: (i) => i.source, sort: (i) => i.source, wide: true },
  rate as Column<IngestStatus>,
  { id: "rows", title: "Rows", cell: (i) => count(i.rows), sort: (i) => i.rows, right: true },
  malformed as Column<IngestStatus>,
  last as Column<IngestStatus>,
];

export default function StreamsPage() {
  const [text, setText] = useParam("q");
  const streams = useQuery(flowQueries.streams());
  const ingests = useQuery(flowQueries.ingests());
  const moment = useMoment();
  const matches = (one: Flow) => shown(one.name).includes(text);
  return (
    <Page
      title="Streams"
      about="What goes on all the time: streams, and the ingests that feed them."
    >
      {moment && (
        <Note>What is listed goes on now. Open one to see what it had done up to the moment.</Note>
      )}
      <div style={{ maxWidth: 360 }}>
        <SearchBox label="Filter streams and ingests" value={text} onChange={setText} />
      </div>
      <Panel title="Streams">
        <Answer of={streams}>
          {(all) => (
            <List
              label="Streams"
              items={all.filter(matches)}
              columns={STREAMS}
              keyOf={(one) => full(one.name)}
              empty={
                <Empty
                  title={all.length > 0 ? "No stream matches" : "No streams yet"}
                  icon={Waves}
                  command={all.length > 0 ? undefined : "trunkline pipeline apply counts.yaml"}
                >
                  {all.length === 0 &&
                    "A stream is a pipeline with transform.stream: it takes what is new, seconds after it came."}
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
      <Panel title="Ingests">
        <Answer of={ingests}>
          {(all) => (
            <List
              label="Ingests"
              sortName="isort"
              items={all.filter(matches)}
              columns={INGESTS}
              keyOf={(one) => full(one.name)}
              empty={
                <Empty
                  title={all.length > 0 ? "No ingest matches" : "No ingests yet"}
                  command={all.length > 0 ? undefined : "trunkline pipeline apply clicks.yaml"}
                >
                  {all.length === 0 &&
                    "An ingest brings rows in: files of a folder, Kafka, HTTP, or a Python function."}
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}
