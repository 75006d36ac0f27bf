import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { useLocation } from "react-router";
import { exactly } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import styles from "./LogsTab.module.css";
import { cut, type Numbered } from "./lines";
import type { LogView } from "./useLogView";

interface Props {
  lines: Numbered[];
  find: string;
  /** The place in `lines` of the line found that is the current one. */
  current: number | undefined;
  view: LogView;
  live: boolean;
}

const LINE = 20;
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** The lines, of which only those in sight are drawn. */
export function LogLines({ lines, find, current, view, live }: Props) {
  const box = useRef<HTMLElement>(null);
  const { follow, setFollow, wrap, line, seeking } = view;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 30,
  });
  const linked = line === undefined ? -1 : lines.findIndex((one) => one.number === line);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each line that is asked for
  useEffect(() => {
    if (linked >= 0) rows.scrollToIndex(linked, { align: "center" });
  }, [linked]);
  useEffect(() => {
    if (current !== undefined && seeking) rows.scrollToIndex(current, { align: "center" });
  }, [current, seeking, rows]);
  const following = follow && live;
  useEffect(() => {
    if (following && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [following, lines.length, rows]);
  const before = useRef(wrap);
  useEffect(() => {
    if (before.current === wrap) return;
    before.current = wrap;
    // All heights are others now; what was at the top stays there.
    const top = rows.range?.startIndex ?? 0;
    rows.measure();
    rows.scrollToIndex(top, { align: "start" });
  }, [wrap, rows]);

  const width = String(lines.at(-1)?.number ?? 1).length;
  return (
    <div className={styles.frame}>
      <section
        ref={box}
        className={styles.lines}
        aria-label="Log"
        tabIndex={0}
        // Who scrolls back wants to read, not to be carried on.
        onWheel={(event) => event.deltaY < 0 && setFollow(false)}
        onKeyDown={(event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && setFollow(false)}
      >
        <div
          className={wrap ? styles.wrapped : styles.straight}
          style={{ height: rows.getTotalSize() }}
        >
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const one = lines[index]!;
            return (
              <LineRow
                key={key}
                line={one}
                measure={rows.measureElement}
                index={index}
                start={start}
                width={width}
                find={find}
                current={index === current}
                linked={index === linked}
              />
            );
          })}
        </div>
      </section>
      {live && !follow && (
        <div className={styles.resume}>
          <Button small kind="primary" onClick={() => setFollow(true)}>
            Follow new lines
          </Button>
        </div>
      )}
    </div>
  );
}

function LineRow(props: {
  line: Numbered;
  measure: (element: Element | null) => void;
  index: number;
  start: number;
  width: number;
  find: string;
  current: boolean;
  linked: boolean;
}) {
  const { line, measure, index, start, width, find, current, linked } = props;
  const { search } = useLocation();
  const look = [
    styles.line,
    styles[line.level],
    current && styles.current,
    linked && styles.linked,
  ];
  return (
    <div
      ref={measure}
      data-index={index}
      className={look.filter(Boolean).join(" ")}
      aria-current={linked ? "true" : undefined}
      style={{ transform: `translateY(${start}px)` }}
    >
      <Link
        to={`${search}#L${line.number}`}
        replace
        className={styles.number}
        style={{ minWidth: `${width + 2}ch` }}
        aria-label={`Link to line ${line.number}`}
        tabIndex={-1}
      >
        {line.number}
      </Link>
      <time dateTime={line.at} title={exactly(line.at)} className={styles.at}>
        {CLOCK.format(new Date(line.at))}
      </time>
      <span className={styles.level}>{NAMES[line.level]}</span>
      <span className={styles.text}>
        {cut(line.text, find).map((part, n) => (n % 2 === 1 ? <mark key={n}>{part}</mark> : part))}
      </span>
    </div>
  );
}

/** Kinds by letters too: not everybody sees their colours. */
const NAMES = { out: "", err: "err", note: "note", warn: "WARN", error: "ERROR" };
