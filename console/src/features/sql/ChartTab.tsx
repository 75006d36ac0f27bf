import { Download } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { count, plural } from "~/lib/format";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Chart } from "~/ui/chart/Chart";
import { Field, Select } from "~/ui/Field";
import { Loading, Note } from "~/ui/Messages";
import {
  AGGREGATES,
  type Aggregate,
  type Choice,
  flaw,
  KINDS,
  type Kind,
  options,
  suggested,
  toData,
} from "./chart";
import { PAGE, type Pages } from "./pages";
import styles from "./Sql.module.css";
import { saveSvg } from "./saveSvg";

const MOST = 50_000;
const AT_ONCE = 4 * PAGE;
const choices = (names: readonly string[], none?: string) => [
  ...(none === undefined ? [] : [{ value: "", text: none }]),
  ...names.map((name) => ({ value: name, text: name })),
];

/** A picture of the result. What was chosen stands in the URL. */
export function ChartTab({
  pages,
  columns,
  types,
  rows,
}: {
  pages: Pages;
  columns: string[];
  types: string[];
  rows: number;
}) {
  const [params, set] = useQueryState();
  const wanted = Math.min(rows, MOST);
  const data = useFirstRows(pages, columns, types, wanted);
  const choice = useMemo<Choice>(() => {
    const usual = suggested(columns, types);
    const kind = KINDS.find((one) => one === params.get("chart")) ?? usual.kind;
    return {
      kind,
      x: params.get("x") ?? usual.x,
      y: params.get("y") ?? usual.y,
      colour: params.get("colour") ?? "",
      aggregate: AGGREGATES.find((one) => one === params.get("of")) ?? usual.aggregate,
    };
  }, [params, columns, types]);
  const wrong = flaw(choice, columns, types);
  const draw = useCallback(
    (plot: Parameters<typeof options>[2]) => options(choice, data ?? [], plot),
    [choice, data],
  );
  const label = `${choice.kind} chart of ${choice.y || "rows"} by ${choice.x}`;
  return (
    <div className="stack">
      <div className={styles.choices}>
        <Field label="Kind">
          <Select
            options={choices(KINDS)}
            value={choice.kind}
            onChange={(e) => set({ chart: e.target.value as Kind })}
          />
        </Field>
        <Field label="x">
          <Select
            options={choices(columns)}
            value={choice.x}
            onChange={(e) => set({ x: e.target.value })}
          />
        </Field>
        {choice.kind !== "histogram" && (
          <>
            <Field label="y">
              <Select
                options={choices(columns, "–")}
                value={choice.y}
                onChange={(e) => set({ y: e.target.value })}
              />
            </Field>
            <Field label="of equal x">
              <Select
                options={choices(AGGREGATES)}
                value={choice.aggregate}
                onChange={(e) => set({ of: e.target.value as Aggregate })}
              />
            </Field>
          </>
        )}
        <Field label="Colour">
          <Select
            options={choices(columns, "one")}
            value={choice.colour}
            onChange={(e) => set({ colour: e.target.value })}
          />
        </Field>
        <span className="grow" />
        <Button icon={Download} onClick={() => saveSvg(label)} disabled={!data || wrong !== ""}>
          Save as SVG
        </Button>
      </div>
      {rows > MOST && (
        <Note>
          The chart shows the first {count(MOST)} of {plural(rows, "row")}.
        </Note>
      )}
      {wrong ? (
        <Note>{wrong}</Note>
      ) : data ? (
        <Chart label={label} draw={draw} height={340} />
      ) : (
        <Loading what="Fetching rows" />
      )}
    </div>
  );
}

/** The first rows, fetched some pages at a time; nothing until all are there. */
function useFirstRows(pages: Pages, columns: string[], types: string[], wanted: number) {
  const [rows, setRows] = useState<unknown[][] | null>(null);
  useEffect(() => {
    let left = false;
    const load = async () => {
      for (let start = 0; start < wanted && !left; start += AT_ONCE) {
        await pages.want(start, Math.min(wanted, start + AT_ONCE) - 1, wanted);
      }
      if (!left) setRows(pages.first(wanted));
    };
    void load();
    return () => {
      left = true;
    };
  }, [pages, wanted]);
  return useMemo(() => (rows ? toData(columns, types, rows) : null), [rows, columns, types]);
}
