import { useState } from "react";
import { useLocation } from "react-router";
import { isOver } from "~/api/jobs";
import type { Job } from "~/api/types";
import { lineOfHash } from "./lines";

const WRAP = "trunkline.logs.wrap";

/** How the log is looked at: what is no part of its address. */
export interface LogView {
  /** Which of the lines found is the current one. */
  match: number;
  setMatch: (match: number) => void;
  /** Whether the current match is to be brought into sight: not before one looks for it, if the
   * address names a line. */
  seeking: boolean;
  /** Whether the newest line stays in sight. */
  follow: boolean;
  setFollow: (on: boolean) => void;
  wrap: boolean;
  setWrap: (on: boolean) => void;
  /** The line that the address names. */
  line: number | undefined;
}

export function useLogView(job: Job): LogView {
  const { hash, search } = useLocation();
  const line = lineOfHash(hash);
  const finding = new URLSearchParams(search).has("find");
  const [match, setMatch] = useState(0);
  const [seeking, setSeeking] = useState(line === undefined);
  const [follow, setFollow] = useState(() => !isOver(job) && line === undefined && !finding);
  const [wrap, setWrap] = useState(() => localStorage.getItem(WRAP) === "1");
  return {
    match,
    setMatch: (now) => {
      setMatch(now);
      setSeeking(true);
    },
    seeking,
    follow,
    setFollow,
    wrap,
    setWrap: (on) => {
      localStorage.setItem(WRAP, on ? "1" : "0");
      setWrap(on);
    },
    line,
  };
}
