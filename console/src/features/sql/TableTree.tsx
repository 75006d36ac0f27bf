import { ChevronRight } from "lucide-react";
import { useState } from "react";
import type { TableInfo } from "~/api/types";
import { compact } from "~/lib/format";
import { SearchBox } from "~/ui/Field";
import { Empty } from "~/ui/Messages";
import { tableName } from "./completion";
import styles from "./Sql.module.css";

/** The tables and their columns; a click puts the name into the query. */
export function TableTree({
  tables,
  onInsert,
}: {
  tables: TableInfo[];
  onInsert: (text: string) => void;
}) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const has = (table: TableInfo) =>
    table.name.toLowerCase().includes(wanted) ||
    table.columns.some((column) => column.name.toLowerCase().includes(wanted));
  const found = tables.filter(has);
  return (
    <nav className={styles.side} aria-label="Tables">
      <SearchBox label="Filter tables and columns" value={text} onChange={setText} />
      {tables.length === 0 && (
        <Empty title="No tables here" command="trunkline put orders@main:/ orders.csv" />
      )}
      <ul className={styles.tables}>
        {found.map((table) => (
          <li key={table.name}>
            <details open={wanted !== "" || found.length <= 3}>
              <summary title={table.name}>
                <ChevronRight size={13} aria-hidden />
                <span className="grow clip">{tableName(table)}</span>
                <span className="dim">
                  {typeof table.rows === "number" ? compact(table.rows) : ""}
                </span>
              </summary>
              {table.error && <p className="dim">{table.error}</p>}
              <ul>
                {!table.error && (
                  <li>
                    <button
                      type="button"
                      className={styles.insert}
                      onClick={() => onInsert(tableName(table))}
                    >
                      insert the name
                    </button>
                  </li>
                )}
                {table.columns.map((column) => (
                  <li key={column.name}>
                    <button
                      type="button"
                      className={styles.insert}
                      title={`${column.name} ${column.type}`}
                      onClick={() => onInsert(column.name)}
                    >
                      <span className="clip">{column.name}</span>
                      <small className="clip">{column.type}</small>
                    </button>
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </nav>
  );
}
