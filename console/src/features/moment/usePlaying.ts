import { useEffect, useRef, useState } from "react";

const STEP = 1200;

/** Goes on by itself, moment by moment, until the end. From the end it begins anew. */
export function usePlaying(place: number, end: number, go: (to: number) => void) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const latest = useRef(go);
  latest.current = go;

  useEffect(() => {
    if (!playing) return;
    const next = place + 1;
    const timer = setTimeout(() => {
      latest.current(next);
      if (next >= end) setPlaying(false);
    }, STEP / speed);
    return () => clearTimeout(timer);
  }, [playing, place, end, speed]);

  const toggle = () => {
    if (!playing && place >= end) go(0);
    setPlaying(!playing);
  };
  return { playing, toggle, stop: () => setPlaying(false), speed, setSpeed };
}
