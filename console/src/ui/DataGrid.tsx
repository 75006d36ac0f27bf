import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type PointerEvent,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { copy } from "./copy";
import styles from "./DataGrid.module.css";

/** As high as it must be for that many rows, within what fits among other things. */
export const heightFor = (rows: number, most: number): number =>
  Math.max(160, Math.min(most, 64 + rows * 28));

export type Mark = "added" | "removed" | "changed" | undefined;

interface Props {
  label: string;
  columns: string[];
  types?: string[];
  /** How many rows there are; `row` may not have all of them yet. */
  count: number;
  row: (index: number) => unknown[] | undefined;
  /** Called with the rows on the screen, so that they can be fetched. */
  onVisible?: (first: number, last: number) => void;
  mark?: (row: number, column: number) => Mark;
  onColumn?: (column: string) => void;
}

const LINE = 28;
// One and the same always: others would be measured again with each drawing.
const NO_TYPES: string[] = [];
const HEAD = 44;
const NUMERIC =
  /^(tinyint|smallint|int|integer|bigint|long|short|byte|float|double|real|decimal|numeric|hugeint|u?int\d*|float\d+)/i;

/** A value as it stands in a cell. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

const widthOf = (title: string, type: string, sample: unknown[]): number => {
  const longest = Math.max(
    title.length + 1,
    type.length,
    ...sample.map((one) => Math.min(40, cellText(one).length)),
  );
  return Math.min(340, Math.max(72, longest * 7.6 + 20));
};

/** Rows and columns of data, however many: only what is seen is drawn. Arrows move, Ctrl-C copies. */
export function DataGrid(props: Props) {
  const { label, columns, types = NO_TYPES, count, row, onVisible, mark, onColumn } = props;
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [widths, setWidths] = useState<Record<string, number>>({});
  const [active, setActive] = useState<[number, number]>([0, 0]);
  const first = row(0) !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured once, when there are rows to measure
  const natural = useMemo(() => {
    const sample = Array.from({ length: Math.min(count, 30) }, (_, n) => row(n)).filter(
      (one) => one !== undefined,
    );
    return columns.map((title, n) =>
      widthOf(
        title,
        types[n] ?? "",
        sample.map((one) => one?.[n]),
      ),
    );
  }, [columns, types, first]);
  const gutter = Math.max(36, String(count).length * 8 + 18);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 12,
    paddingStart: HEAD,
    scrollPaddingStart: HEAD,
  });
  const cols = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => box.current,
    estimateSize: (n) => widths[columns[n] ?? ""] ?? natural[n] ?? 120,
    overscan: 3,
    paddingStart: gutter,
    scrollPaddingStart: gutter,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: widths are what it measures
  useEffect(() => cols.measure(), [widths, natural, cols]);
  const lines = rows.getVirtualItems();
  const fields = cols.getVirtualItems();
  const [from, to] = [lines[0]?.index ?? 0, lines.at(-1)?.index ?? 0];
  useEffect(() => {
    if (count > 0) onVisible?.(from, to);
  }, [from, to, count, onVisible]);

  const move = (event: KeyboardEvent) => {
    const [r, c] = active;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 300) / LINE) - 2);
    const steps: Record<string, [number, number]> = {
      ArrowDown: [r + 1, c],
      ArrowUp: [r - 1, c],
      ArrowRight: [r, c + 1],
      ArrowLeft: [r, c - 1],
      PageDown: [r + page, c],
      PageUp: [r - page, c],
      Home: [event.ctrlKey ? 0 : r, 0],
      End: [event.ctrlKey ? count - 1 : r, columns.length - 1],
    };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      const next: [number, number] = [
        Math.min(Math.max(0, step[0]), Math.max(0, count - 1)),
        Math.min(Math.max(0, step[1]), columns.length - 1),
      ];
      setActive(next);
      rows.scrollToIndex(next[0]);
      cols.scrollToIndex(next[1]);
    } else if (
      event.key === "c" &&
      (event.ctrlKey || event.metaKey) &&
      !getSelection()?.toString()
    ) {
      void copy(cellText(row(r)?.[c]), "Copied the cell.");
    }
  };
  const resize = (event: PointerEvent, column: string, width: number) => {
    event.preventDefault();
    const start = event.clientX;
    const drag = (now: globalThis.PointerEvent) =>
      setWidths((old) => ({ ...old, [column]: Math.max(48, width + now.clientX - start) }));
    const drop = new AbortController();
    window.addEventListener("pointermove", drag, { signal: drop.signal });
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, () => drop.abort(), { signal: drop.signal });
    }
  };
  const total = cols.getTotalSize();
  return (
    <div
      ref={box}
      className={styles.grid}
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={count > 0 ? `${id}-${active[0]}-${active[1]}` : undefined}
      tabIndex={0}
      onKeyDown={move}
    >
      <div
        role="row"
        aria-rowindex={1}
        className={styles.head}
        style={{ width: total, marginBottom: -HEAD }}
      >
        {fields.map((field) => {
          const name = columns[field.index] ?? "";
          return (
            <div
              key={field.key}
              role="columnheader"
              aria-colindex={field.index + 1}
              className={styles.title}
              style={{ left: field.start, width: field.size }}
              title={`${name} ${types[field.index] ?? ""}`}
            >
              {onColumn ? (
                <button type="button" className="clip" onClick={() => onColumn(name)}>
                  {name}
                </button>
              ) : (
                name
              )}
              <small>{types[field.index]}</small>
              <span
                className={styles.grip}
                onPointerDown={(event) => resize(event, name, field.size)}
              />
            </div>
          );
        })}
      </div>
      <div
        role="rowgroup"
        style={{ height: rows.getTotalSize(), width: total, position: "relative" }}
      >
        {lines.map((line) => {
          const values = row(line.index);
          return (
            <div
              key={line.key}
              role="row"
              aria-rowindex={line.index + 2}
              className={styles.line}
              style={{ width: total, transform: `translateY(${line.start}px)` }}
            >
              <div
                role="rowheader"
                className={`${styles.cell} ${styles.numbers}`}
                style={{ width: gutter, display: "inline-block" }}
              >
                {line.index + 1}
              </div>
              {fields.map((field) => {
                const value = values?.[field.index];
                const marked = mark?.(line.index, field.index);
                const is = active[0] === line.index && active[1] === field.index;
                const look = [
                  styles.cell,
                  NUMERIC.test(types[field.index] ?? "") && styles.number,
                  values && (value === null || value === undefined) && styles.null,
                  marked && styles[marked],
                  is && styles.active,
                ];
                return (
                  <div
                    key={field.key}
                    id={is ? `${id}-${line.index}-${field.index}` : undefined}
                    role="gridcell"
                    aria-colindex={field.index + 1}
                    aria-selected={is}
                    className={look.filter(Boolean).join(" ")}
                    style={{ left: field.start, width: field.size }}
                    title={values ? cellText(value) : "loading"}
                    onClick={() => setActive([line.index, field.index])}
                  >
                    {values ? cellText(value) : "…"}
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
    </div>
  );
}
