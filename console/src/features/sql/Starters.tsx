import type { Asked } from "~/api/sql";
import type { TableInfo } from "~/api/types";
import { Button } from "~/ui/Button";
import { Tabs } from "~/ui/Tabs";
import { tableName } from "./completion";
import { Past } from "./Past";
import styles from "./Sql.module.css";

/** Queries that somebody who sees these tables for the first time may want. */
export function starters(tables: TableInfo[]): { title: string; text: string }[] {
  const readable = tables.filter((table) => !table.error && table.columns.length > 0);
  const first = readable[0];
  if (!first) return [{ title: "No tables yet: numbers", text: "SELECT * FROM range(10)" }];
  const name = tableName(first);
  const part = readable.find((table) => table.partition_by.length > 0);
  const found = [{ title: `Look into ${name}`, text: `SELECT *\nFROM ${name}\nLIMIT 100` }];
  if (part) {
    const by = part.partition_by[0];
    found.push({
      title: `Count ${tableName(part)} by ${by}`,
      text: `SELECT ${by}, count(*) AS rows\nFROM ${tableName(part)}\nGROUP BY ${by}\nORDER BY ${by}`,
    });
  }
  found.push({
    title: `What ${name} was before its last commit`,
    text: `SELECT 'now' AS version, count(*) AS rows FROM ${name}\nUNION ALL\nSELECT 'before', count(*) FROM ${name} AT 'main~1'`,
  });
  return found;
}

export function Starters({
  tables,
  onChoose,
  onPast,
}: {
  tables: TableInfo[];
  onChoose: (text: string) => void;
  onPast: (asked: Asked) => void;
}) {
  return (
    <section className={styles.result} aria-label="To begin with">
      <Tabs
        full
        name="begin"
        label="To begin with"
        tabs={[
          {
            id: "try",
            title: "Try",
            body: () => (
              <div className="stack">
                <p className="dim">
                  Tables have the names of their repos. An older version is <code>AT 'main~1'</code>{" "}
                  after the name, or the whole lake as of a moment above.
                </p>
                <div className="row wrap">
                  {starters(tables).map((one) => (
                    <Button key={one.title} onClick={() => onChoose(one.text)}>
                      {one.title}
                    </Button>
                  ))}
                </div>
              </div>
            ),
          },
          { id: "past", title: "History", body: () => <Past onChoose={onPast} /> },
        ]}
      />
    </section>
  );
}
