import { useQuery } from "@tanstack/react-query";
import { CalendarClock, History, Plus, Timer } from "lucide-react";
import { useState } from "react";
import { pipelineQueries, tickPipeline } from "~/api/pipelines";
import type { PipelineInfo } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { exactly, plural } from "~/lib/format";
import { same, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { RepoLink } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { say } from "~/ui/toast";
import { BackfillDialog } from "../actions/BackfillDialog";
import { Backfills } from "./Backfills";

interface Coming {
  at: string;
  repo: { project: string; repo: string };
}

const TICKS: Column<Coming>[] = [
  {
    id: "when",
    title: "When",
    cell: (tick) => <span style={{ whiteSpace: "nowrap" }}>{exactly(tick.at)}</span>,
  },
  { id: "in", title: "In", cell: (tick) => <Time at={tick.at} /> },
  { id: "repo", title: "Ticks go to", cell: (tick) => <RepoLink name={tick.repo} />, wide: true },
];
const EXAMPLE = `schedule:
  cron: "0 6 * * *"
  timezone: Europe/Berlin`;

export function ScheduleTab({ pipeline, schedule }: { pipeline: PipelineInfo; schedule: string }) {
  const { name } = pipeline;
  const moment = useMoment();
  const ticks = useQuery(pipelineQueries.ticks(name, 8));
  const backfills = useQuery(pipelineQueries.backfills());
  const [asked, setAsked] = useState<"tick" | "backfill" | null>(null);
  const close = () => setAsked(null);
  const ticking = schedule !== "" || (ticks.data?.items.length ?? 0) > 0;
  return (
    <div className="stack">
      <Panel
        title={ticking ? `Schedule: ${schedule}` : "Schedule"}
        actions={
          ticking &&
          !moment && (
            <Button small icon={Timer} onClick={() => setAsked("tick")}>
              Tick now
            </Button>
          )
        }
      >
        <Answer of={ticks}>
          {({ items }) => (
            <List
              label="Next ticks"
              sortName="ticks"
              items={items}
              columns={TICKS}
              keyOf={(tick) => `${tick.at} ${tick.repo.repo}`}
              empty={
                <Empty title="No schedule" icon={CalendarClock} command={EXAMPLE}>
                  {shown(name)} runs whenever its inputs change. To run it at certain times, add
                  this to its spec:
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
      <Panel
        title="Backfills"
        actions={
          !moment &&
          pipeline.inputs.length > 0 && (
            <Button small icon={Plus} onClick={() => setAsked("backfill")}>
              New backfill
            </Button>
          )
        }
      >
        <Answer
          of={{ ...backfills, data: backfills.data?.filter((one) => same(one.pipeline, name)) }}
        >
          {(items) => (
            <Backfills
              items={items}
              empty={
                <Empty
                  title="No backfills"
                  icon={History}
                  command={`trunkline pipeline backfill ${shown(name)} --from orders@main~10`}
                >
                  A backfill runs the pipeline for commits of the past, on a branch apart.
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
      <ActionDialog
        open={asked === "tick"}
        onClose={close}
        title={`Tick ${shown(name)} now?`}
        about="Its schedule ticks as if the time had come, and a job starts. The next tick stays as it is."
        action="Tick now"
        doing={async () => {
          const { items } = await tickPipeline(name);
          say(`${plural(items.length, "tick")} of ${shown(name)}.`);
        }}
      />
      {asked === "backfill" && <BackfillDialog pipeline={pipeline} onClose={close} />}
    </div>
  );
}
