import { DatabaseZap, FolderOpen, Table2 } from "lucide-react";
import { RefPicker } from "~/features/repo/RefPicker";
import { bytes, count } from "~/lib/format";
import { shown as nameOf, paths } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { ButtonLink } from "~/ui/Button";
import { Select } from "~/ui/Field";
import { Answer, Empty, Failure, Loading } from "~/ui/Messages";
import { Page, Stat } from "~/ui/Page";
import { type Tab, Tabs } from "~/ui/Tabs";
import { ChecksTab } from "./ChecksTab";
import { HistoryTab } from "./HistoryTab";
import { LineageTab } from "./LineageTab";
import { ProfileTab } from "./ProfileTab";
import { type Place, sqlPath, titleOf } from "./place";
import { RowsTab } from "./RowsTab";
import { SchemaTab } from "./SchemaTab";
import styles from "./Table.module.css";
import { type Shown, useTable } from "./useTable";

const tabsOf = (shown: Shown, at: string): Tab[] => [
  { id: "rows", title: "Rows", body: () => <RowsTab shown={shown} /> },
  { id: "schema", title: "Schema", body: () => <SchemaTab shown={shown} /> },
  { id: "profile", title: "Profile", body: () => <ProfileTab shown={shown} /> },
  {
    id: "history",
    title: "History",
    body: () => <HistoryTab place={shown.place} at={at} commit={shown.commit} />,
  },
  { id: "checks", title: "Checks", body: () => <ChecksTab shown={shown} /> },
  { id: "lineage", title: "Lineage", body: () => <LineageTab shown={shown} /> },
];

function Figures({ info }: Shown) {
  return (
    <div className={styles.stats}>
      <Stat value={typeof info.rows === "number" ? count(info.rows) : "–"} name="rows" />
      <Stat value={count(info.columns.length)} name="columns" />
      <Stat value={bytes(info.size)} name={`in ${count(info.files)} files`} />
      <Stat value={info.format} name="format" />
      {info.partition_by.length > 0 && (
        <Stat value={info.partition_by.join(", ")} name="partitioned by" />
      )}
      {info.key.length > 0 && <Stat value={info.key.join(", ")} name="key" />}
    </div>
  );
}

export default function TablePage() {
  const { name, at, path, tables, table } = useTable();
  const [, set] = useQueryState();
  const place: Place = { name, path: path ?? "/" };
  const title = titleOf(place);
  const others = [...new Set([...(tables.data ?? []).map((one) => one.path), place.path])];
  const choose = (to: string) => set({ at: to, tip: null }, { push: true });
  const body = () => {
    if (at === null) {
      return <Empty title="Not there yet">At this moment {nameOf(name)} had no version.</Empty>;
    }
    if (at === undefined) return <Loading />;
    if (tables.data?.length === 0 && !table.data && !table.error) {
      return (
        <Empty
          title="No table here"
          icon={Table2}
          command={`trunkline table write ${nameOf(name)}@main rows.csv`}
        >
          {nameOf(name)} has no Parquet, CSV, JSON or ORC files at this version.
        </Empty>
      );
    }
    if (tables.error && !table.data) {
      return <Failure error={tables.error} retry={() => void tables.refetch()} />;
    }
    if (table.error && !table.data) {
      return (
        <>
          <Failure error={table.error} retry={() => void table.refetch()} />
          {path && <HistoryTab place={place} at={at} />}
        </>
      );
    }
    return (
      <Answer of={table}>
        {(found) => {
          const shown = { ...found, place };
          return (
            <>
              <Figures {...shown} />
              <Tabs
                key={title}
                label={`About ${title}`}
                clears={["q", "sort", "job"]}
                tabs={tabsOf(shown, at)}
              />
            </>
          );
        }}
      </Answer>
    );
  };
  return (
    <Page
      title={title}
      crumbs={[{ to: "/tables", text: "Tables" }]}
      actions={
        <>
          {others.length > 1 && (
            <Select
              aria-label="Table of the repo"
              value={place.path}
              onChange={(event) => set({ path: event.target.value, column: null }, { push: true })}
              options={others.map((one) => ({ value: one, text: one }))}
            />
          )}
          {typeof at === "string" && <RefPicker repo={name} value={at} onChange={choose} />}
          <ButtonLink icon={FolderOpen} to={paths.repo(name)}>
            Files
          </ButtonLink>
          <ButtonLink kind="primary" icon={DatabaseZap} to={sqlPath(place, at ?? "main")}>
            Query in SQL
          </ButtonLink>
        </>
      }
    >
      {body()}
    </Page>
  );
}
