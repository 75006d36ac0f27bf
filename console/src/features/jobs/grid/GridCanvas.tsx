import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  memo,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useNavigate } from "react-router";
import type { Job, RepoName } from "~/api/types";
import { briefly, exactly, seconds } from "~/lib/format";
import { full, paths } from "~/lib/names";
import { useStay } from "~/ui/Link";
import { toneOf } from "~/ui/State";
import { GridLine } from "./GridLine";
import { HoverCard } from "./HoverCard";
import styles from "./JobsGrid.module.css";
import { type Grid, moved, type SetColumn } from "./shape";

const COLUMN = 30;
const LINE = 32;
const HEAD = 68;
const NAMES = 200;
const BAR = 40;
/** A time is written above every so many columns. */
const LABEL_EVERY = 5;

interface Props {
  grid: Grid;
  /** PROJECT/NAME@ID, or "". */
  chosen: string;
  onChoose: (job: Job) => void;
}

/** The squares. Arrows move, Enter opens, Space chooses; the head stands for whole sets. */
export function GridCanvas({ grid: { rows, columns }, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const stay = useStay();
  const [active, setActive] = useState({ row: rows[0] ? full(rows[0]) : "", set: "" });
  const [hovered, setHovered] = useState<{ job: Job; place: DOMRect }>();
  const lines = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 8,
    paddingStart: HEAD,
    scrollPaddingStart: HEAD,
  });
  const sets = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => box.current,
    estimateSize: () => COLUMN,
    overscan: 8,
    paddingStart: NAMES,
    scrollPaddingStart: NAMES,
  });
  useStayInPlace(box, columns);

  const row = active.row === "" ? -1 : rows.findIndex((one) => full(one) === active.row);
  const found = columns.findIndex((one) => one.id === active.set);
  const column = found < 0 ? columns.length - 1 : found;
  const jobAt = (r: number, c: number): Job | undefined =>
    rows[r] && columns[c]?.jobs.get(full(rows[r]));

  const press = (event: KeyboardEvent) => {
    const next = moved(event.key, [row, column], rows.length, columns.length);
    const job = jobAt(row, column);
    if (next) {
      event.preventDefault();
      const [r, c] = next;
      setActive({ row: r < 0 ? "" : full(rows[r]!), set: columns[c]!.id });
      if (r >= 0) lines.scrollToIndex(r);
      sets.scrollToIndex(c);
    } else if (event.key === "Enter" && row < 0 && columns[column]) {
      openSet(columns[column].id);
    } else if (event.key === "Enter" && job) {
      openJob(job);
    } else if (event.key === " " && job) {
      event.preventDefault();
      onChoose(job);
    }
  };
  const calls = useRef({ stay, navigate, columns, onChoose });
  calls.current = { stay, navigate, columns, onChoose };
  const openJob = useCallback((job: Job) => {
    const { navigate: go, stay: here } = calls.current;
    void go(here(paths.job(job.pipeline, job.id)));
  }, []);
  const openSet = useCallback((set: string) => {
    const { navigate: go, stay: here } = calls.current;
    void go(here(paths.set(set)));
  }, []);
  const pick = useCallback((name: RepoName, set: string) => {
    setActive({ row: full(name), set });
    const job = calls.current.columns.find((one) => one.id === set)?.jobs.get(full(name));
    if (job) calls.current.onChoose(job);
  }, []);
  const point = useCallback((job: Job | undefined, at: Element) => {
    setHovered(job && { job, place: at.getBoundingClientRect() });
  }, []);
  const longest = Math.max(0.001, ...columns.map((one) => one.seconds ?? 0));
  const width = sets.getTotalSize();
  const seen = sets.getVirtualItems();
  const size = useMemo(() => ({ column: COLUMN, line: LINE, names: NAMES, width }), [width]);
  return (
    <div className={styles.frame}>
      <div
        ref={box}
        className={styles.grid}
        role="grid"
        aria-label="Jobs by set and pipeline"
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length + 1}
        aria-activedescendant={`square-${row}-${column}`}
        tabIndex={0}
        onKeyDown={press}
        onScroll={() => setHovered(undefined)}
        onPointerLeave={() => setHovered(undefined)}
      >
        <div
          role="row"
          aria-rowindex={1}
          className={styles.head}
          style={{ width, height: HEAD, marginBottom: -HEAD }}
        >
          <div
            role="columnheader"
            aria-colindex={1}
            className={styles.corner}
            style={{ width: NAMES }}
          >
            Pipeline
          </div>
          {seen.map((field) => {
            const one = columns[field.index]!;
            return (
              <Head
                key={one.id}
                set={one}
                id={`square--1-${field.index}`}
                index={field.index}
                left={field.start}
                height={((one.seconds ?? longest) / longest) * BAR}
                active={row < 0 && column === field.index}
                labelled={
                  field.index >= 3 && (columns.length - 1 - field.index) % LABEL_EVERY === 0
                }
                open={openSet}
              />
            );
          })}
        </div>
        <div
          role="rowgroup"
          className={styles.body}
          style={{ width, height: lines.getTotalSize() }}
        >
          {lines.getVirtualItems().map((line) => {
            const name = rows[line.index]!;
            const key = full(name);
            return (
              <GridLine
                key={key}
                name={name}
                index={line.index}
                top={line.start}
                size={size}
                seen={seen}
                columns={columns}
                active={line.index === row ? column : -1}
                chosen={chosen.startsWith(`${key}@`) ? chosen.slice(key.length + 1) : ""}
                onPick={pick}
                onOpen={openJob}
                onPoint={point}
              />
            );
          })}
        </div>
      </div>
      {hovered && <HoverCard {...hovered} />}
    </div>
  );
}

const Head = memo(function Head(props: {
  set: SetColumn;
  id: string;
  index: number;
  left: number;
  height: number;
  active: boolean;
  labelled: boolean;
  open: (set: string) => void;
}) {
  const { set, id, index, left, height, active, labelled, open } = props;
  const took = set.seconds === null ? "not over" : `took ${seconds(set.seconds)}`;
  return (
    <div
      id={id}
      role="columnheader"
      aria-colindex={index + 2}
      aria-label={`Set of ${exactly(set.at)}, ${set.state}, ${took}`}
      title={`${exactly(set.at)}\n${set.state}, ${took}`}
      className={styles.set}
      style={{ left, width: COLUMN, height: HEAD }}
      data-active={active || undefined}
      onClick={() => open(set.id)}
    >
      {labelled && <small>{briefly(set.at)}</small>}
      <i className={styles[toneOf(set.state)]} style={{ height: Math.max(3, height) }} />
    </div>
  );
});

/** Begins at the newest set, stays there as others come, and does not jump when older are found. */
function useStayInPlace(box: React.RefObject<HTMLDivElement | null>, columns: SetColumn[]) {
  const before = useRef<{ first: string; count: number } | null>(null);
  useLayoutEffect(() => {
    const at = box.current;
    if (!at) return;
    const then = before.current;
    const end = NAMES + (then?.count ?? 0) * COLUMN;
    if (!then || at.scrollLeft + at.clientWidth >= end - COLUMN) at.scrollLeft = at.scrollWidth;
    else
      at.scrollLeft +=
        Math.max(
          0,
          columns.findIndex((one) => one.id === then.first),
        ) * COLUMN;
    before.current = { first: columns[0]?.id ?? "", count: columns.length };
  }, [box, columns]);
}
