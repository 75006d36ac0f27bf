import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { useQueryState } from "~/lib/url";
import { Button } from "./Button";
import styles from "./List.module.css";
import { type More, MoreFailed } from "./More";

export interface Column<Item> {
  id: string;
  title: string;
  cell: (item: Item) => ReactNode;
  /** What to sort by; columns without it are not sorted. */
  sort?: (item: Item) => string | number;
  right?: boolean;
  /** Takes the room that is left, and wraps. */
  wide?: boolean;
}

interface Props<Item> {
  label: string;
  items: Item[];
  columns: Column<Item>[];
  keyOf: (item: Item) => string;
  chosen?: string;
  empty?: ReactNode;
  /** In the URL, where there are several lists on one screen. */
  sortName?: string;
  more?: More;
}

/** A list for people to read: some hundred rows. For data there is DataGrid. */
export function List<Item>(props: Props<Item>) {
  const { label, items, columns, keyOf, chosen, empty, sortName = "sort", more } = props;
  const [params, set] = useQueryState();
  const asked = params.get(sortName) ?? "";
  const down = asked.startsWith("-");
  const by = columns.find((column) => column.id === asked.replace(/^-/, ""))?.sort;
  const sorted = useMemo(() => {
    if (!by) return items;
    const order = [...items].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return x < y ? -1 : x > y ? 1 : 0;
    });
    return down ? order.reverse() : order;
  }, [items, by, down]);
  if (items.length === 0 && empty) return empty;
  const turn = (id: string) =>
    set({ [sortName]: asked === id ? `-${id}` : asked === `-${id}` ? null : id });
  return (
    <>
      <section className={styles.scroll} aria-label={label} tabIndex={0}>
        <table className={styles.list}>
          <thead>
            <tr>
              {columns.map((column) => {
                const is =
                  asked === column.id
                    ? "ascending"
                    : asked === `-${column.id}`
                      ? "descending"
                      : undefined;
                return (
                  <th
                    key={column.id}
                    scope="col"
                    aria-sort={is}
                    className={column.right ? styles.right : ""}
                  >
                    {column.sort ? (
                      <button type="button" className={styles.sort} onClick={() => turn(column.id)}>
                        {column.title} {is === "ascending" && <ArrowUp size={12} aria-hidden />}
                        {is === "descending" && <ArrowDown size={12} aria-hidden />}
                      </button>
                    ) : (
                      column.title
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {sorted.map((item) => (
              <tr key={keyOf(item)} className={keyOf(item) === chosen ? styles.chosen : ""}>
                {columns.map((column) => (
                  <td
                    key={column.id}
                    className={`${column.right ? styles.right : ""} ${column.wide ? styles.wide : ""}`}
                  >
                    {column.cell(item)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <MoreFailed more={more} />
      {more && !more.error && (
        <div className={styles.more}>
          <Button small onClick={more.load} busy={more.busy}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
