import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { type Delivery, jobQueries, retryDelivery } from "~/api/jobs";
import type { Job } from "~/api/types";
import { Button } from "~/ui/Button";
import { type Column, List } from "~/ui/List";
import { Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { complain, say } from "~/ui/toast";

/** What went out, or why it did not. */
export function outcome(one: Delivery): string {
  const note = one.receipt?.note;
  return one.reason || (typeof note === "string" ? note : "");
}

async function again(one: Delivery): Promise<void> {
  try {
    await retryDelivery(one);
    say(`It goes out to ${one.target} again.`);
  } catch (error) {
    complain(error);
  }
}

const COLUMNS: Column<Delivery>[] = [
  { id: "target", title: "Target", cell: (one) => one.target },
  { id: "state", title: "State", cell: (one) => <State state={one.state} /> },
  { id: "what", title: "What", wide: true, cell: outcome },
  { id: "when", title: "When", cell: (one) => <Time at={one.finished ?? one.created} /> },
  {
    id: "again",
    title: "",
    cell: (one) =>
      one.state === "failed" && (
        <Button small icon={RotateCcw} onClick={() => void again(one)}>
          Try again<span className="sr-only"> {one.target}</span>
        </Button>
      ),
  },
];

/** Where its output went; nothing for a pipeline without egress. */
export function Deliveries({ job }: { job: Job }) {
  const found = useQuery(jobQueries.deliveries(job.pipeline, job.id));
  if (!found.data?.length) return null;
  return (
    <Panel title="Where it went">
      <List
        label="Deliveries"
        items={found.data}
        columns={COLUMNS}
        keyOf={(one) => one.target}
        sortName="deliveries"
        empty={<Empty title="It went nowhere." />}
      />
    </Panel>
  );
}
