import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  LoaderCircle,
  type LucideIcon,
  SkipForward,
  Undo2,
} from "lucide-react";
import styles from "./State.module.css";

export type Tone = "good" | "bad" | "busy" | "wait" | "calm";

const LOOKS: Record<string, [Tone, LucideIcon]> = {
  success: ["good", CircleCheck],
  passed: ["good", CircleCheck],
  done: ["good", CircleCheck],
  failure: ["bad", CircleX],
  failed: ["bad", CircleX],
  killed: ["calm", Ban],
  cancelled: ["calm", Ban],
  unrunnable: ["bad", CircleSlash],
  warned: ["wait", CircleAlert],
  running: ["busy", LoaderCircle],
  finishing: ["busy", LoaderCircle],
  created: ["wait", Clock],
  waiting: ["wait", Clock],
  queued: ["wait", Clock],
  skipped: ["calm", SkipForward],
  recovered: ["wait", Undo2],
  paused: ["calm", CirclePause],
  idle: ["calm", CircleDashed],
  new: ["calm", CircleDashed],
};

export const toneOf = (state: string): Tone => LOOKS[state]?.[0] ?? "calm";

/** A state by colour, picture and word, so that no one needs to see colours. */
export function State({ state, text }: { state: string; text?: string }) {
  const [tone, Icon] = LOOKS[state] ?? ["calm", CircleDashed];
  const turning = tone === "busy" ? styles.turning : "";
  return (
    <span className={`${styles.state} ${styles[tone]}`}>
      <Icon size={13} aria-hidden className={turning} />
      {text ?? state}
    </span>
  );
}

/** The picture alone, with its word for screen readers. */
export function StateIcon({ state, size = 15 }: { state: string; size?: number }) {
  const [tone, Icon] = LOOKS[state] ?? ["calm", CircleDashed];
  return (
    <Icon
      size={size}
      role="img"
      aria-label={state || "no state"}
      color={`var(--${tone})`}
      className={tone === "busy" ? styles.turning : ""}
    />
  );
}
