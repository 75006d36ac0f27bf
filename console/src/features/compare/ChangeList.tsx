import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useRef } from "react";
import type { Change } from "~/api/compare";
import { bytes, plural } from "~/lib/format";
import styles from "./Compare.module.css";
import { grown, type Line } from "./tree";

const LINE = 30;
const SIGNS = { added: "+", removed: "−", modified: "~" };

/** The sign of a change by colour, character and word. */
export function Sign({ change }: { change: Change["change"] }) {
  return (
    <span className={`${styles.sign} ${styles[change]}`} title={change}>
      <span aria-hidden>{SIGNS[change]}</span>
      <span className="sr-only">{change} </span>
    </span>
  );
}

function sizeOf(change: Change): string {
  if (change.change !== "modified") return bytes(change.new_size ?? change.old_size ?? 0);
  const more = grown(change);
  return more === 0 ? "same size" : `${more > 0 ? "+" : "−"}${bytes(Math.abs(more))}`;
}

/** Changed files, however many: only those that are seen are drawn. */
export function ChangeList(props: {
  lines: Line[];
  chosen: string;
  onFile: (path: string) => void;
  onFolder: (path: string) => void;
}) {
  const { lines, chosen, onFile, onFolder } = props;
  const box = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 15,
  });
  return (
    <section ref={box} className={styles.list} aria-label="Changed files" tabIndex={0}>
      <ul style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (!line) return null;
          const { path, text, depth, change, below, open } = line;
          return (
            <li key={path} style={{ transform: `translateY(${item.start}px)` }}>
              <button
                type="button"
                className={styles.line}
                style={{ paddingLeft: 12 + depth * 16 }}
                aria-expanded={change ? undefined : open}
                aria-current={path === chosen ? "true" : undefined}
                title={path}
                onClick={() => (change ? onFile(path) : onFolder(path))}
              >
                {change ? (
                  <Sign change={change.change} />
                ) : open ? (
                  <ChevronDown size={14} aria-hidden />
                ) : (
                  <ChevronRight size={14} aria-hidden />
                )}
                <span className="grow clip">{text}</span>
                <span className="num dim">{change ? sizeOf(change) : plural(below, "file")}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
