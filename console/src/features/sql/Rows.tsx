import { useCallback, useEffect, useMemo, useReducer } from "react";
import { queryRows } from "~/api/sql";
import { DataGrid } from "~/ui/DataGrid";
import { complain } from "~/ui/toast";
import { Pages } from "./pages";
import styles from "./Sql.module.css";

/** The rows of a query as they come into view. */
export function usePages(id: string | undefined): Pages | null {
  const [, changed] = useReducer((n: number) => n + 1, 0);
  return useMemo(
    () =>
      id
        ? new Pages(
            async (start, limit) => (await queryRows(id, start, limit)).rows ?? [],
            changed,
            complain,
          )
        : null,
    [id],
  );
}

export function Rows({
  pages,
  columns,
  types,
  count,
}: {
  pages: Pages;
  columns: string[];
  types: string[];
  count: number;
}) {
  const visible = useCallback(
    (first: number, last: number) => void pages.want(first, last, count),
    [pages, count],
  );
  useEffect(() => void pages.want(0, 0, count), [pages, count]);
  return (
    <div className={styles.grid}>
      <DataGrid
        label="Result"
        columns={columns}
        types={types}
        count={count}
        row={(index) => pages.row(index)}
        onVisible={visible}
      />
    </div>
  );
}
