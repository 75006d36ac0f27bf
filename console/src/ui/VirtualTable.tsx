import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useRef } from "react";
import type { Column } from "./List";
import { type More, MoreFailed, useMoreNear } from "./More";
import styles from "./VirtualTable.module.css";

export interface SizedColumn<Item> extends Column<Item> {
  /** In pixels; columns without it share what is left. */
  width?: number;
}

interface Props<Item> {
  label: string;
  items: Item[];
  columns: SizedColumn<Item>[];
  keyOf: (item: Item) => string;
  /** Asked for when the end comes into sight. */
  more?: More;
  /** What opens below a row, and which one is open. */
  detail?: {
    of: (item: Item) => ReactNode;
    open: string;
    turn: (key: string) => void;
    label: (item: Item) => string;
  };
}

const LINE = 44;
const NEAR = 20;

/** A list that may be very long: only the rows in sight are drawn. It fills its parent. */
export function VirtualTable<Item>({ label, items, columns, keyOf, more, detail }: Props<Item>) {
  const box = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    getItemKey: (n) => keyOf(items[n]!),
    overscan: 10,
  });
  const seen = rows.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  useMoreNear(more, last, items.length, NEAR);
  const before = seen[0]?.start ?? 0;
  const after = rows.getTotalSize() - (seen.at(-1)?.end ?? 0);
  const all = columns.length + (detail ? 1 : 0);
  const least = columns.reduce((sum, column) => sum + (column.width ?? 160), detail ? 36 : 0);
  return (
    <section ref={box} className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={styles.table} aria-rowcount={items.length + 1} style={{ minWidth: least }}>
        <colgroup>
          {detail && <col style={{ width: 36 }} />}
          {columns.map((column) => (
            <col key={column.id} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {detail && (
              <th scope="col">
                <span className="sr-only">Details</span>
              </th>
            )}
            {columns.map((column) => (
              <th key={column.id} scope="col" className={column.right ? styles.right : ""}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{before > 0 && <Gap height={before} columns={all} />}</tbody>
        {seen.map(({ index, key }) => {
          const item = items[index];
          if (item === undefined) return null;
          const open = detail?.open === keyOf(item);
          return (
            <tbody key={key} ref={rows.measureElement} data-index={index}>
              <tr aria-rowindex={index + 2} className={styles.row}>
                {detail && (
                  <td>
                    <button
                      type="button"
                      className={styles.turn}
                      aria-expanded={open}
                      aria-label={detail.label(item)}
                      onClick={() => detail.turn(open ? "" : keyOf(item))}
                    >
                      {open ? <ChevronDown size={15} /> : <ChevronRight size={15} />}
                    </button>
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.id} className={column.right ? styles.right : ""}>
                    {column.cell(item)}
                  </td>
                ))}
              </tr>
              {detail && open && (
                <tr>
                  <td colSpan={all} className={styles.detail}>
                    {detail.of(item)}
                  </td>
                </tr>
              )}
            </tbody>
          );
        })}
        <tbody>{after > 0 && <Gap height={after} columns={all} />}</tbody>
      </table>
      <MoreFailed more={more} />
    </section>
  );
}

const Gap = ({ height, columns }: { height: number; columns: number }) => (
  <tr aria-hidden>
    <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
  </tr>
);
