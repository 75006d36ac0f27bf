import { useQuery } from "@tanstack/react-query";
import { Table2 } from "lucide-react";
import { repoQueries } from "~/api/repos";
import { tableQueries } from "~/api/tables";
import type { TableInfo } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { bytes, count } from "~/lib/format";
import { DEFAULT_PROJECT } from "~/lib/names";
import { useParam } from "~/lib/url";
import { SearchBox, Select } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Page, Panel } from "~/ui/Page";
import { placeOf, tablePath, titleOf } from "./place";

const names = (one: TableInfo): string => one.columns.map((c) => c.name).join(", ");

const COLUMNS: Column<TableInfo>[] = [
  {
    id: "name",
    title: "Table",
    cell: (t) => <Link to={tablePath(placeOf(t))}>{titleOf(placeOf(t))}</Link>,
    sort: (t) => titleOf(placeOf(t)),
  },
  {
    id: "columns",
    title: "Columns",
    cell: (t) =>
      t.error ? (
        <span style={{ color: "var(--bad)" }}>{t.error}</span>
      ) : (
        <div className="clip dim" title={names(t)}>
          {count(t.columns.length)}: {names(t)}
        </div>
      ),
    sort: (t) => t.columns.length,
    wide: true,
  },
  {
    id: "rows",
    title: "Rows",
    cell: (t) => (t.rows === null || t.rows === undefined ? "–" : count(t.rows)),
    sort: (t) => t.rows ?? -1,
    right: true,
  },
  { id: "size", title: "Size", cell: (t) => bytes(t.size), sort: (t) => t.size, right: true },
  { id: "files", title: "Files", cell: (t) => count(t.files), sort: (t) => t.files, right: true },
  { id: "format", title: "Format", cell: (t) => t.format, sort: (t) => t.format },
  {
    id: "parts",
    title: "Partitioned by",
    cell: (t) => t.partition_by.join(", "),
    sort: (t) => t.partition_by.join(),
  },
];

const matches = (one: TableInfo, text: string): boolean =>
  `${titleOf(placeOf(one))} ${names(one)} ${one.format}`.toLowerCase().includes(text.toLowerCase());

export default function TablesPage() {
  const [text, setText] = useParam("q");
  const [project, setProject] = useParam("project", DEFAULT_PROJECT);
  const projects = useQuery(repoQueries.projects());
  const tables = useQuery(tableQueries.list(project, useMoment()));
  return (
    <Page title="Tables" about="Folders of data that are read as rows and columns.">
      <div className="row wrap">
        <div style={{ width: 360, maxWidth: "100%" }}>
          <SearchBox label="Filter by table or column" value={text} onChange={setText} />
        </div>
        {(projects.data?.length ?? 0) > 1 && (
          <Select
            aria-label="Project"
            value={project}
            onChange={(event) => setProject(event.target.value)}
            options={(projects.data ?? []).map(({ name }) => ({ value: name, text: name }))}
          />
        )}
      </div>
      <Panel>
        <Answer of={tables}>
          {(all) => (
            <List
              label="Tables"
              items={all.filter((one) => matches(one, text))}
              columns={COLUMNS}
              keyOf={(one) => one.name}
              empty={
                all.length > 0 ? (
                  <Empty title="No table matches" />
                ) : (
                  <Empty
                    title="No tables yet"
                    icon={Table2}
                    command="trunkline table write orders@main orders.csv"
                  >
                    A folder with Parquet, CSV, JSON or ORC files is a table. Nothing has to be
                    declared.
                  </Empty>
                )
              }
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}
