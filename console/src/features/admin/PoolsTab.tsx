import { useQuery } from "@tanstack/react-query";
import { Gauge, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { deletePool, type Pool, setPool, statusQueries } from "~/api/status";
import { count } from "~/lib/format";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { useChange } from "./useChange";

/** Limits on how many jobs of some pipelines run at once. */
export function PoolsTab() {
  const pools = useQuery(statusQueries.pools());
  const change = useChange("jobs");
  const [setting, set] = useState<Partial<Pool> | null>(null);
  const [leaving, leave] = useState<Pool | null>(null);
  const columns: Column<Pool>[] = [
    { id: "name", title: "Pool", cell: (one) => one.name, sort: (one) => one.name, wide: true },
    { id: "slots", title: "Slots", cell: (one) => count(one.slots), right: true },
    { id: "running", title: "Running", cell: (one) => count(one.running ?? 0), right: true },
    { id: "waiting", title: "Waiting", cell: (one) => count(one.waiting ?? 0), right: true },
    {
      id: "do",
      title: "",
      cell: (one) => (
        <>
          <Button
            small
            kind="ghost"
            icon={Pencil}
            label={`Change ${one.name}`}
            onClick={() => set(one)}
          />
          <Button
            small
            kind="ghost"
            icon={Trash2}
            label={`Delete ${one.name}`}
            onClick={() => leave(one)}
          />
        </>
      ),
      right: true,
    },
  ];
  return (
    <Panel
      title="How many jobs run at once"
      actions={
        <Button small icon={Plus} onClick={() => set({})}>
          New pool
        </Button>
      }
    >
      <Answer of={pools}>
        {(all) => (
          <List
            label="Pools"
            items={all}
            columns={columns}
            keyOf={(one) => one.name}
            empty={
              <Empty title="No pools" icon={Gauge} command="trunkline pool set database 2">
                A pipeline whose spec says <code>pool: database</code> waits for a slot of it.
              </Empty>
            }
          />
        )}
      </Answer>
      {setting && <SetPool pool={setting} change={change} onClose={() => set(null)} />}
      {leaving && (
        <ActionDialog
          open
          onClose={() => leave(null)}
          title={`Delete the pool ${leaving.name}?`}
          about="Its pipelines then run without this limit."
          action="Delete"
          danger
          doing={() => change(deletePool(leaving.name), `Deleted the pool ${leaving.name}.`)}
        />
      )}
    </Panel>
  );
}

function SetPool({
  pool,
  change,
  onClose,
}: {
  pool: Partial<Pool>;
  change: ReturnType<typeof useChange>;
  onClose: () => void;
}) {
  const [name, setName] = useState(pool.name ?? "");
  const [slots, setSlots] = useState(String(pool.slots ?? 1));
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={pool.name ? `The pool ${pool.name}` : "New pool"}
      action="Set"
      ready={name.trim() !== "" && /^\d+$/.test(slots)}
      doing={() =>
        change(setPool(name.trim(), Number(slots)), `${name.trim()} has ${slots} slots.`)
      }
    >
      {!pool.name && (
        <Field label="Name">
          <Input value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
      )}
      <Field label="Slots" hint="So many jobs run at once; 0 stops them.">
        <Input
          type="number"
          min={0}
          value={slots}
          onChange={(event) => setSlots(event.target.value)}
        />
      </Field>
    </ActionDialog>
  );
}
