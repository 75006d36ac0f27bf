import type { DatumOf } from "~/api/pipelines";
import { plural, shortId } from "~/lib/format";
import { full, ref, shown } from "~/lib/names";
import { type Column, List } from "~/ui/List";
import { Empty, Note } from "~/ui/Messages";
import { State } from "~/ui/State";
import styles from "./Editor.module.css";

const COLUMNS: Column<DatumOf>[] = [
  { id: "pipeline", title: "Pipeline", cell: (one) => shown(one.pipeline) },
  {
    id: "inputs",
    title: "Inputs",
    cell: (one) => (
      <>
        {one.datum.inputs.map((input, n) => (
          <div key={n}>
            <code>
              {input.name}: {ref(input.repo, "main", input.path).replace("@main", "")}
            </code>
          </div>
        ))}
      </>
    ),
    wide: true,
  },
  {
    id: "would",
    title: "Would",
    cell: (one) => (
      <State state={one.datum.state} text={one.datum.state === "waiting" ? "run" : "be skipped"} />
    ),
  },
  { id: "why", title: "Why", cell: (one) => one.datum.reason },
  {
    id: "id",
    title: "Datum",
    cell: (one) => <span className="mono">{shortId(one.datum.id)}</span>,
  },
];

/** The datums that a spec would have, with their inputs. */
export function Datums({
  found: { items, more },
  stale,
}: {
  found: { items: DatumOf[]; more: boolean };
  stale: boolean;
}) {
  if (items.length === 0) {
    return (
      <Empty title="No datums">
        No glob of the inputs matches a file or folder that is there now. Streams and ingests have
        batches instead.
      </Empty>
    );
  }
  return (
    <div className="stack">
      {stale && <Note>What is written was changed since. Preview again to see its datums.</Note>}
      <p>
        {more ? "More than " : ""}
        {plural(items.length, "datum")}: each is a unit of work, computed when its inputs change.
      </p>
      <div className={styles.datums}>
        <List
          label="Datums"
          sortName="datums"
          items={items}
          columns={COLUMNS}
          keyOf={(one) => `${full(one.pipeline)} ${one.datum.id}`}
        />
      </div>
    </div>
  );
}
