import { useQueries } from "@tanstack/react-query";
import { Table2 } from "lucide-react";
import { useMemo } from "react";
import type { Pair } from "~/api/compare";
import { tableQueries } from "~/api/tables";
import type { TableInfo } from "~/api/types";
import { count } from "~/lib/format";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { type Column, List } from "~/ui/List";
import { Answer, Empty, Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Compare.module.css";
import { RowsDiff } from "./RowsDiff";
import { schemaChanges, schemaWords } from "./rows";

interface Both {
  path: string;
  old?: TableInfo;
  new?: TableInfo;
}

function bothOf(old: TableInfo[], now: TableInfo[]): Both[] {
  const found = new Map<string, Both>();
  for (const [side, tables] of [
    ["old", old],
    ["new", now],
  ] as const)
    for (const table of tables)
      found.set(table.path, { ...found.get(table.path), path: table.path, [side]: table });
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

const rowsOf = (table?: TableInfo): string =>
  typeof table?.rows === "number" ? count(table.rows) : "–";

/** What differs in the columns of a table, in words. */
function wordsOf({ old, new: now }: Both): string {
  if (!old) return "the whole table is new";
  if (!now) return "the whole table is gone";
  if (old.error || now.error) return now.error || old.error || "";
  const words = schemaWords(schemaChanges(old.columns, now.columns));
  return words.join("; ") || "same columns";
}

/** The tables of two commits, and how the rows of one of them differ. */
export function TablesDiff({ pair }: { pair: Pair }) {
  const [params, set] = useQueryState();
  const [old, now] = useQueries({
    queries: [tableQueries.ofRepo(pair.repo, pair.old), tableQueries.ofRepo(pair.repo, pair.new)],
  });
  const both = useMemo(
    () => (old.data && now.data ? bothOf(old.data, now.data) : undefined),
    [old.data, now.data],
  );
  const asked = params.get("path");
  const columns: Column<Both>[] = [
    {
      id: "table",
      title: "Table",
      cell: (one) => (
        <button
          type="button"
          className={styles.choose}
          aria-pressed={one.path === chosenOf(both, asked)?.path}
          onClick={() => set({ path: one.path, key: null }, { push: true })}
        >
          {one.path === "/" ? shown(pair.repo) : one.path}
        </button>
      ),
    },
    { id: "columns", title: "Columns", wide: true, cell: wordsOf },
    { id: "old", title: "Rows before", right: true, cell: (one) => rowsOf(one.old) },
    { id: "new", title: "Rows now", right: true, cell: (one) => rowsOf(one.new) },
  ];
  const error = old.error ?? now.error;
  return (
    <Answer of={{ data: both, error, isPending: !both }}>
      {(tables) => {
        const chosen = chosenOf(tables, asked);
        return (
          <div className="stack">
            <Panel>
              <List
                label="Tables of both commits"
                items={tables}
                columns={columns}
                keyOf={(one) => one.path}
                chosen={chosen?.path}
                empty={
                  <Empty title="No tables" icon={Table2}>
                    A folder with files of rows, such as CSV or Parquet, is a table.
                  </Empty>
                }
              />
            </Panel>
            {chosen && <OneTable key={chosen.path} pair={pair} both={chosen} />}
          </div>
        );
      }}
    </Answer>
  );
}

const chosenOf = (tables: Both[] | undefined, path: string | null): Both | undefined =>
  tables?.find((one) => one.path === path) ?? (tables?.length === 1 ? tables[0] : undefined);

function OneTable({ pair, both }: { pair: Pair; both: Both }) {
  const { path, old, new: now } = both;
  const types = useMemo(
    () =>
      Object.fromEntries(
        [...(old?.columns ?? []), ...(now?.columns ?? [])].map((one) => [one.name, one.type]),
      ),
    [old, now],
  );
  return (
    <Panel title={`Rows of ${path === "/" ? shown(pair.repo) : path}`} padded>
      {old && now ? (
        <RowsDiff pair={pair} path={path} types={types} />
      ) : (
        <Note>
          Only the {old ? "old" : "new"} commit has this table, with {rowsOf(old ?? now)} rows.
        </Note>
      )}
    </Panel>
  );
}
