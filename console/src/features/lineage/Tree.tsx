import { ChevronDown, ChevronRight } from "lucide-react";
import { type KeyboardEvent, useContext, useMemo, useRef, useState } from "react";
import { Steer } from "./Card";
import type { Branch } from "./drawn";
import styles from "./Tree.module.css";

interface Line {
  branch: Branch;
  level: number;
  open: boolean;
  /** Which of its siblings it is, and of how many. */
  place: number;
  of: number;
}

/** The lines that are seen: what is below a closed branch is not. */
export function linesOf(branches: Branch[], closed: ReadonlySet<string>, level = 1): Line[] {
  return branches.flatMap((branch, n) => {
    const open = !closed.has(branch.id);
    const line = { branch, level, open, place: n + 1, of: branches.length };
    return [line, ...(open ? linesOf(branch.below, closed, level + 1) : [])];
  });
}

/** What a key does: go to another line, turn this one open or shut, or act on it. */
export function stepOf(
  key: string,
  lines: Line[],
  at: number,
): number | "turn" | "act" | undefined {
  const line = lines[at];
  if (!line) return undefined;
  const inner = line.branch.below.length > 0;
  if (key === "ArrowDown") return at + 1;
  if (key === "ArrowUp") return at - 1;
  if (key === "Home") return 0;
  if (key === "End") return lines.length - 1;
  if (key === "Enter" || key === " ") return "act";
  if (key === "ArrowRight" && inner) return line.open ? at + 1 : "turn";
  if (key === "ArrowLeft" && inner && line.open) return "turn";
  const above = lines.slice(0, at).findLastIndex((one) => one.level < line.level);
  return key === "ArrowLeft" && above >= 0 ? above : undefined;
}

/** Lineage in words: arrows walk along it, Enter tells of what it is on. */
export function Tree({ label, branches }: { label: string; branches: Branch[] }) {
  const { go, more } = useContext(Steer);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(branches, closed), [branches, closed]);
  const current = Math.max(
    0,
    lines.findIndex((line) => line.branch.id === at),
  );
  const turn = (id: string, open: boolean) =>
    setClosed((now) => {
      const next = new Set(now);
      if (open) next.delete(id);
      else next.add(id);
      return next;
    });
  const focus = (n: number) => {
    const line = lines[Math.min(Math.max(0, n), lines.length - 1)];
    if (!line) return;
    setAt(line.branch.id);
    box.current?.querySelector<HTMLElement>(`[data-id="${line.branch.id}"]`)?.focus();
  };
  const act = ({ goal, more: left }: Branch) => (goal ? go(goal) : left > 0 ? more() : undefined);
  const keys = (event: KeyboardEvent) => {
    const line = lines[current];
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = stepOf(event.key, lines, current);
    if (step === undefined) return;
    event.preventDefault();
    if (step === "act") act(line.branch);
    else if (step === "turn") turn(line.branch.id, !line.open);
    else focus(step);
  };
  return (
    <div ref={box} role="tree" aria-label={label} className={styles.tree} onKeyDown={keys}>
      {lines.map(({ branch, level, open, place, of }, n) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree hears the keys
        <div
          key={branch.id}
          data-id={branch.id}
          role="treeitem"
          aria-level={level}
          aria-posinset={place}
          aria-setsize={of}
          aria-expanded={branch.below.length > 0 ? open : undefined}
          aria-selected={n === current}
          tabIndex={n === current ? 0 : -1}
          className={styles.item}
          style={{ paddingLeft: 4 + (level - 1) * 16 }}
          onClick={() => {
            setAt(branch.id);
            act(branch);
          }}
        >
          <Turn branch={branch} open={open} onTurn={() => turn(branch.id, !open)} />
          <span>
            <span className={branch.goal ? styles.goal : ""}>{branch.text}</span>{" "}
            {branch.detail && <span className="dim">{branch.detail}</span>}
          </span>
        </div>
      ))}
    </div>
  );
}

function Turn({ branch, open, onTurn }: { branch: Branch; open: boolean; onTurn: () => void }) {
  const Icon = open ? ChevronDown : ChevronRight;
  if (branch.below.length === 0) return <span className={styles.turn} />;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: left and right arrows do the same
    // biome-ignore lint/a11y/noStaticElementInteractions: the item says whether it is open
    <span
      className={styles.turn}
      onClick={(event) => {
        event.stopPropagation();
        onTurn();
      }}
    >
      <Icon size={13} aria-hidden />
    </span>
  );
}
