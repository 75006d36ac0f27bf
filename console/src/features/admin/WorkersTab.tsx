import { useQuery } from "@tanstack/react-query";
import { Cpu } from "lucide-react";
import { statusQueries } from "~/api/status";
import type { Job, Schema } from "~/api/types";
import { full, paths, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Lasting, Time } from "~/ui/Time";

type Worker = Schema<"WorkerInfo">;

const columns = (jobs: Job[]): Column<Worker>[] => [
  {
    id: "name",
    title: "Worker",
    cell: (one) => <span className="mono">{one.name}</span>,
    sort: (one) => one.name,
  },
  { id: "started", title: "Since", cell: (one) => <Time at={one.started} /> },
  { id: "jobs", title: "Jobs", cell: (one) => one.jobs, right: true },
  {
    id: "runs",
    title: "Runs",
    cell: (one) => <Runs jobs={jobs.filter((job) => job.worker === one.name)} />,
    wide: true,
  },
];

/** Who runs the jobs, and which. */
export function WorkersTab() {
  const workers = useQuery(statusQueries.workers());
  const running = useQuery(statusQueries.running());
  return (
    <Panel>
      <Answer of={workers}>
        {({ items }) => (
          <List
            label="Workers"
            items={items}
            columns={columns(running.data ?? [])}
            keyOf={(one) => one.name}
            empty={
              <Empty title="No worker" icon={Cpu} command="trunkline serve --workers 1">
                Jobs wait until there is one. Workers elsewhere that reach the lake count too.
              </Empty>
            }
          />
        )}
      </Answer>
    </Panel>
  );
}

function Runs({ jobs }: { jobs: Job[] }) {
  if (jobs.length === 0) return <span className="dim">nothing now</span>;
  return jobs.map((job) => (
    <div key={full(job.pipeline) + job.id} className="row">
      <Link to={paths.job(job.pipeline, job.id)}>{shown(job.pipeline)}</Link>
      <span className="dim">
        for <Lasting from={job.started ?? job.created} />
      </span>
    </div>
  ));
}
