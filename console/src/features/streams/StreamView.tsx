import { useQuery } from "@tanstack/react-query";
import { History, RotateCcw } from "lucide-react";
import { useState } from "react";
import { flowQueries } from "~/api/flows";
import type { RepoName, StreamStatus } from "~/api/types";
import { bytes, count, seconds } from "~/lib/format";
import { paths } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Stat } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { BatchCharts } from "./BatchCharts";
import { BatchesTab } from "./BatchesTab";
import { FlowPage } from "./FlowPage";
import { lagOf, lagText, rateText, rewindable } from "./figures";
import { InputsPanel } from "./InputsPanel";
import { RestartDialog } from "./RestartDialog";
import { RewindDialog } from "./RewindDialog";
import { SavepointsTab } from "./SavepointsTab";
import styles from "./Streams.module.css";
import { useBatches } from "./useBatches";

function Figures({ of: s }: { of: StreamStatus }) {
  const aside = `${paths.table(s.name)}?tab=checks`;
  return (
    <div className={styles.stats}>
      <Stat value={rateText(s.speed.rows_per_second)} name="rows/s" />
      <Stat value={lagText(lagOf(s.inputs))} name="behind its inputs" />
      <Stat value={<Time at={s.watermark} />} name="watermark" />
      <Stat
        value={count(s.late)}
        name={s.late > 0 ? <Link to={aside}>late rows</Link> : "late rows"}
      />
      <Stat
        value={count(s.malformed)}
        name={s.malformed > 0 ? <Link to={aside}>malformed rows</Link> : "malformed rows"}
      />
      <Stat value={count(s.state_rows)} name={`rows in state, ${bytes(s.state_bytes)}`} />
      <Stat value={s.batch} name={`batches, epoch ${s.epoch}`} />
      {typeof s.speed.p50 === "number" && (
        <Stat value={seconds(s.speed.p50)} name={`a batch; p99 ${seconds(s.speed.p99 ?? 0)}`} />
      )}
    </div>
  );
}

export function StreamView({ name }: { name: RepoName }) {
  const stream = useQuery(flowQueries.stream(name));
  const found = useBatches(name);
  const [to, setTo] = useState<string>();
  const [restarting, setRestarting] = useState(false);
  const newest = rewindable(found.batches)[0]?.commit;
  return (
    <FlowPage
      name={name}
      of={stream}
      about={stream.data?.kind}
      actions={
        <>
          <Button icon={History} disabled={!newest} onClick={() => setTo(newest)}>
            Rewind…
          </Button>
          <Button icon={RotateCcw} onClick={() => setRestarting(true)}>
            Restart…
          </Button>
        </>
      }
      figures={(one) => <Figures of={one} />}
      tabs={(one) => [
        {
          id: "overview",
          title: "Overview",
          body: () => (
            <div className="stack">
              <BatchCharts batches={found.batches} />
              <InputsPanel of={one} />
            </div>
          ),
        },
        {
          id: "batches",
          title: "Batches",
          body: () => <BatchesTab name={name} of={found} onRewind={setTo} />,
        },
        {
          id: "savepoints",
          title: "Savepoints",
          body: () => <SavepointsTab name={name} onRewind={setTo} />,
        },
      ]}
    >
      <RewindDialog
        name={name}
        batches={found.batches}
        to={to}
        onTo={setTo}
        onClose={() => setTo(undefined)}
      />
      <RestartDialog name={name} open={restarting} onClose={() => setRestarting(false)} />
    </FlowPage>
  );
}
