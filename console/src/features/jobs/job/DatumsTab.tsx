import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { isOver, jobQueries } from "~/api/jobs";
import type { DatumInfo, Job } from "~/api/types";
import { bytes, count, seconds, shortId } from "~/lib/format";
import { full } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Select } from "~/ui/Field";
import { Answer, Empty } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { State } from "~/ui/State";
import { type SizedColumn, VirtualTable } from "~/ui/VirtualTable";
import { DatumDetail } from "./DatumDetail";
import styles from "./DatumsTab.module.css";

const STATES = ["failed", "running", "waiting", "success", "recovered", "skipped"];

const inputsOf = (datum: DatumInfo): string =>
  datum.inputs.map((one) => `${one.name}:${one.path}`).join(" + ");

const UNDONE = ["running", "waiting"];

/** Of a job that is over: what was still to do then is not done any more. */
const stateOf = (datum: DatumInfo, over: boolean) =>
  over && UNDONE.includes(datum.state) ? (
    <State state="killed" text="not kept" />
  ) : (
    <State state={datum.state} />
  );

const columns = (over: boolean): SizedColumn<DatumInfo>[] => [
  {
    id: "id",
    title: "Datum",
    width: 124,
    cell: (datum) => <span className="mono">{shortId(datum.id)}</span>,
  },
  { id: "state", title: "State", width: 120, cell: (datum) => stateOf(datum, over) },
  {
    id: "inputs",
    title: "Reads",
    cell: (datum) => (
      <div className="clip mono" title={inputsOf(datum)}>
        {inputsOf(datum)}
      </div>
    ),
  },
  {
    id: "reason",
    title: "Why",
    width: 260,
    cell: (datum) => (
      <div
        className={`clip ${datum.error ? styles.error : ""}`}
        title={datum.error || datum.reason}
      >
        {datum.error?.split("\n", 1)[0] || datum.reason}
      </div>
    ),
  },
  {
    id: "took",
    title: "Took",
    width: 84,
    cell: (datum) => (datum.tries ? seconds(datum.seconds ?? 0) : <span className="dim">–</span>),
    right: true,
  },
  { id: "tries", title: "Tries", width: 66, cell: (datum) => count(datum.tries ?? 0), right: true },
  { id: "in", title: "In", width: 84, cell: (datum) => bytes(datum.bytes_in ?? 0), right: true },
  { id: "out", title: "Out", width: 84, cell: (datum) => bytes(datum.bytes_out ?? 0), right: true },
];

/** The units of the job's work, what became of each, and why. */
export function DatumsTab({ job }: { job: Job }) {
  const [params, set] = useQueryState();
  const state = params.get("state") ?? "";
  const datums = useInfiniteQuery(jobQueries.datums(job.pipeline, job.id, state || undefined));
  const items = useMemo(
    () => datums.data?.pages.flatMap((page) => page.items) ?? [],
    [datums.data],
  );
  const over = isOver(job);
  const shown = useMemo(() => columns(over), [over]);
  const turn = useCallback((datum: string) => set({ datum }), [set]);
  return (
    <div className={styles.screen}>
      <div className="row">
        <Select
          aria-label="State"
          value={state}
          onChange={(event) => set({ state: event.target.value, datum: null })}
          options={[
            { value: "", text: "Any state" },
            ...STATES.map((value) => ({ value, text: value })),
          ]}
        />
      </div>
      <Answer of={datums}>
        {() =>
          items.length > 0 ? (
            <div className={styles.table}>
              <VirtualTable
                label={`Datums of ${full(job.pipeline)}`}
                items={items}
                columns={shown}
                keyOf={(datum) => datum.id}
                more={moreOf(datums)}
                detail={{
                  of: (datum) => <DatumDetail job={job} datum={datum} />,
                  open: params.get("datum") ?? "",
                  turn,
                  label: (datum) => `Details of the datum ${shortId(datum.id)}`,
                }}
              />
            </div>
          ) : (
            <Empty title={state ? `No datum is ${state}.` : "It has no datums yet."}>
              {state
                ? "Choose another state."
                : "A job is cut into datums by the globs of its pipeline's inputs when it starts."}
            </Empty>
          )
        }
      </Answer>
    </div>
  );
}
