import { useQueryClient } from "@tanstack/react-query";
import { CirclePause, CirclePlay, CircleX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type Backfill, pipelineQueries, steerBackfill } from "~/api/pipelines";
import { count, shortId } from "~/lib/format";
import { paths } from "~/lib/names";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { attempt } from "~/ui/toast";

type Steer = (backfill: Backfill, action: "pause" | "resume" | "cancel") => void;

const columns = (steer: Steer): Column<Backfill>[] => [
  { id: "id", title: "Backfill", cell: (one) => <span className="mono">{shortId(one.id)}</span> },
  { id: "span", title: "Of", cell: (one) => one.span, wide: true },
  { id: "state", title: "State", cell: (one) => <State state={one.state} /> },
  {
    id: "done",
    title: "Jobs done",
    cell: (one) => (
      <span className="row" style={{ justifyContent: "flex-end" }}>
        <progress
          max={one.total || 1}
          value={one.done}
          aria-label="Jobs done"
          style={{ width: 70 }}
        />
        {count(one.done)} of {count(one.total)}
      </span>
    ),
    right: true,
  },
  { id: "failed", title: "Failed", cell: (one) => <Failed n={one.failed} />, right: true },
  {
    id: "branch",
    title: "Branch",
    cell: (one) => (
      <Link to={`${paths.repo(one.pipeline)}?${new URLSearchParams({ at: one.branch })}`}>
        {one.branch}
      </Link>
    ),
  },
  { id: "created", title: "Created", cell: (one) => <Time at={one.created} /> },
  { id: "author", title: "By", cell: (one) => one.author },
  { id: "steer", title: "", cell: (one) => <Steering of={one} steer={steer} /> },
];

const Failed = ({ n }: { n: number }) => (
  <span style={n > 0 ? { color: "var(--bad)", fontWeight: 550 } : undefined}>{count(n)}</span>
);

export function Backfills({ items, empty }: { items: Backfill[]; empty: ReactNode }) {
  const client = useQueryClient();
  const [cancelling, setCancelling] = useState<Backfill | null>(null);
  // No event tells that a backfill was steered.
  const refresh = () => client.invalidateQueries(pipelineQueries.backfills());
  const steer: Steer = (one, action) => {
    if (action === "cancel") setCancelling(one);
    else
      void attempt(
        steerBackfill(one.id, action).then(refresh),
        action === "pause" ? "The backfill is paused." : "The backfill goes on.",
      );
  };
  return (
    <>
      <List
        label="Backfills"
        sortName="backfills"
        items={items}
        columns={columns(steer)}
        keyOf={(one) => one.id}
        empty={empty}
      />
      <ActionDialog
        open={cancelling !== null}
        onClose={() => setCancelling(null)}
        danger
        title="Cancel the backfill?"
        about="Its jobs that are not over are stopped. What the others have made stays on its branch."
        action="Cancel the backfill"
        doing={async () => {
          await steerBackfill(cancelling!.id, "cancel");
          await refresh();
        }}
      />
    </>
  );
}

function Steering({ of, steer }: { of: Backfill; steer: Steer }) {
  if (of.state === "done" || of.state === "cancelled") return null;
  return (
    <span className="row">
      {of.state === "paused" ? (
        <Button small icon={CirclePlay} label="Resume" onClick={() => steer(of, "resume")} />
      ) : (
        <Button small icon={CirclePause} label="Pause" onClick={() => steer(of, "pause")} />
      )}
      <Button small icon={CircleX} label="Cancel" onClick={() => steer(of, "cancel")} />
    </span>
  );
}
