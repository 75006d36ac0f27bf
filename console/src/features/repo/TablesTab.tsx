import { useQuery } from "@tanstack/react-query";
import { Table2 } from "lucide-react";
import { fileQueries } from "~/api/files";
import type { RepoName, TableInfo } from "~/api/types";
import { bytes, count } from "~/lib/format";
import { paths } from "~/lib/names";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty, Failure, Loading } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { AtPicker } from "./RefPicker";
import { useWhere } from "./where";

type Listed = Pick<TableInfo, "path" | "format" | "columns" | "rows" | "size" | "error">;

/** The address of a table's screen. */
export const tableUrl = (repo: RepoName, at: string, path: string): string =>
  `${paths.table(repo)}?${new URLSearchParams(path === "/" ? { at } : { at, path })}`;

/** The tables of the repo, each leading to its own screen. */
export function TablesTab({ repo }: { repo: RepoName }) {
  const { at, commit, error, retry } = useWhere(repo);
  const tables = useQuery({
    ...fileQueries.tables(repo, commit ?? ""),
    enabled: Boolean(commit),
  });
  const columns: Column<Listed>[] = [
    {
      id: "path",
      title: "Table",
      cell: (table) => <Link to={tableUrl(repo, at ?? "main", table.path)}>{table.path}</Link>,
      sort: (table) => table.path,
    },
    { id: "format", title: "Format", cell: (table) => table.format },
    {
      id: "columns",
      title: "Columns",
      cell: (table) => table.error || table.columns.map((one) => one.name).join(", "),
      wide: true,
    },
    {
      id: "rows",
      title: "Rows",
      cell: (table) => (typeof table.rows === "number" ? count(table.rows) : "–"),
      sort: (table) => table.rows ?? -1,
      right: true,
    },
    { id: "size", title: "Size", cell: (t) => bytes(t.size), sort: (t) => t.size, right: true },
  ];
  if (error) return <Failure error={error} retry={retry} />;
  const none = (
    <Empty title="No tables here" icon={Table2}>
      Folders with Parquet, CSV, JSON lines or ORC files are tables. Upload some to see them.
    </Empty>
  );
  return (
    <div className="stack">
      <div className="row">
        <AtPicker repo={repo} />
      </div>
      <Panel>
        {commit === null ? (
          none
        ) : commit === undefined ? (
          <Loading />
        ) : (
          <Answer of={tables}>
            {(all) => (
              <List
                label="Tables"
                items={all}
                columns={columns}
                keyOf={(table) => table.path}
                empty={none}
              />
            )}
          </Answer>
        )}
      </Panel>
    </div>
  );
}
