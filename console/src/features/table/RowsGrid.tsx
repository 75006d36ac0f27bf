import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { tableQueries } from "~/api/tables";
import { count } from "~/lib/format";
import { DataGrid } from "~/ui/DataGrid";
import { Answer, Empty } from "~/ui/Messages";
import type { Place } from "./place";

/** So many rows before the last that is there, the next are asked for. */
const AHEAD = 150;
/** Lines that stand for rows to come. */
const COMING = 30;
/** Pixels of a line, and of the head with a bar to scroll by. */
const [LINE, ROOM] = [28, 60];

/** The rows of a table at a commit, fetched as one scrolls. */
export function RowsGrid({
  place: { name, path },
  commit,
  label,
  height,
  onColumn,
}: {
  place: Place;
  commit: string;
  label: string;
  /** At most; in CSS. */
  height: string;
  onColumn?: (column: string) => void;
}) {
  const asked = useInfiniteQuery(tableQueries.rows(name, commit, path));
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = asked;
  const rows = useMemo(
    () => asked.data?.pages.flatMap((page) => page.rows ?? []) ?? [],
    [asked.data],
  );
  const lines = rows.length + (hasNextPage ? COMING : 0);
  const seen = useCallback(
    (_: number, last: number) => {
      const wanted = last > rows.length - AHEAD && hasNextPage;
      if (wanted && !isFetching && !isFetchNextPageError) void fetchNextPage();
    },
    [rows.length, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage],
  );
  return (
    <Answer of={asked}>
      {({ pages: [first] }) =>
        rows.length === 0 && !hasNextPage ? (
          <Empty title="No rows">
            It has the columns {first?.columns.join(", ")}, and no row at this version.
          </Empty>
        ) : (
          <>
            <div style={{ height: `min(${height}, ${ROOM + lines * LINE}px)` }}>
              <DataGrid
                label={label}
                columns={first?.columns ?? []}
                types={first?.types}
                count={lines}
                row={(index) => rows[index]}
                onVisible={seen}
                onColumn={onColumn}
              />
            </div>
            {isFetchNextPageError && (
              <p role="alert">
                More rows could not be read: {asked.error?.message}{" "}
                <button type="button" onClick={() => void fetchNextPage()}>
                  Try again
                </button>
              </p>
            )}
            <p className="sr-only" role="status">
              {count(rows.length)} rows are here{hasNextPage ? "; more come as you scroll" : ""}
            </p>
          </>
        )
      }
    </Answer>
  );
}
