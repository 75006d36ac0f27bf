import { ChevronLeft, ChevronRight, History, Pause, Play } from "lucide-react";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "~/ui/Button";
import { Select } from "~/ui/Field";
import styles from "./Moment.module.css";
import { MomentBand } from "./MomentBand";
import { spoken, ticksOf } from "./moments";
import { useMoments } from "./useMoments";
import { usePlaying } from "./usePlaying";

const MOST_TICKS = 160;
const SETTLE = 150;
const SPEEDS = [0.5, 1, 2, 4].map((n) => ({ value: String(n), text: `${n}×` }));

/** A slider over the commit sets. While it is dragged only its own words follow. */
function Slider({ sets, place, go }: Pick<ReturnType<typeof useMoments>, "sets" | "place" | "go">) {
  const [dragged, setDragged] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const ticks = useMemo(() => ticksOf(sets, MOST_TICKS), [sets]);
  const value = dragged ?? Math.max(0, place);
  const move = (to: number) => {
    setDragged(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      go(to);
      setDragged(undefined);
    }, SETTLE);
  };
  const highest = Math.max(1, ...ticks.map((tick) => tick.count));
  return (
    <div className={styles.slider}>
      <div className={styles.ticks} aria-hidden>
        {ticks.map((tick) => (
          <i
            key={tick.first}
            className={styles[tick.outcome]}
            style={
              {
                left: `${((tick.first + (tick.count - 1) / 2) / sets.length) * 100}%`,
                "--tall": 0.5 + (0.5 * tick.count) / highest,
              } as CSSProperties
            }
          />
        ))}
      </div>
      <input
        type="range"
        min={0}
        max={sets.length}
        step={1}
        value={value}
        aria-label="Moment"
        aria-valuetext={spoken(sets[value])}
        onChange={(event) => move(Number(event.target.value))}
      />
      {dragged !== undefined && (
        <output className={styles.hint} style={{ left: `${(value / sets.length) * 100}%` }}>
          {spoken(sets[value])}
        </output>
      )}
    </div>
  );
}

/** The lake's history as a line: drag, step or play through it. */
export default function Timeline() {
  const { sets, moment, place, at, go, error, older, busy } = useMoments();
  const end = sets.length;
  const here = Math.max(0, place);
  const { playing, toggle, stop, speed, setSpeed } = usePlaying(here, end, go);
  const step = (to: number) => {
    stop();
    go(Math.min(end, Math.max(0, to)));
  };
  if (!moment && (error || end === 0)) {
    return (
      <p className={styles.line}>
        {error ? String(error.message) : "No commits yet, so there is no past to look at."}
      </p>
    );
  }
  return (
    <section aria-label="Time travel">
      {moment && <MomentBand moment={moment} set={at} onNow={() => step(end)} />}
      <div className={styles.line}>
        <Button
          small
          kind="ghost"
          icon={ChevronLeft}
          label="Previous moment"
          disabled={here <= 0}
          onClick={() => step(here - 1)}
        />
        <Button
          small
          icon={playing ? Pause : Play}
          label={playing ? "Stop playing" : "Play forward"}
          onClick={toggle}
        />
        <Button
          small
          kind="ghost"
          icon={ChevronRight}
          label="Next moment"
          disabled={here >= end}
          onClick={() => step(here + 1)}
        />
        <span className={styles.speed}>
          <Select
            aria-label="Speed"
            value={String(speed)}
            onChange={(event) => setSpeed(Number(event.target.value))}
            options={SPEEDS}
          />
        </span>
        {older && (
          <Button small kind="ghost" icon={History} busy={busy} onClick={older}>
            Older
          </Button>
        )}
        <Slider sets={sets} place={place} go={step} />
        <Button
          small
          kind={moment ? "default" : "ghost"}
          aria-pressed={!moment}
          onClick={() => step(end)}
        >
          Now
        </Button>
      </div>
    </section>
  );
}
