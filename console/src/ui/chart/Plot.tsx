import * as Plot from "@observablehq/plot";
import { useEffect, useRef, useState } from "react";
import { nonce } from "~/lib/nonce";

export interface PlotProps {
  /** What it shows, in words: charts are pictures. */
  label: string;
  /** What to draw; `plot` is the library. Keep it stable (useCallback). */
  draw: (plot: typeof Plot) => Plot.PlotOptions;
  height?: number;
}

export default function PlotChart({ label, draw, height = 220 }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    );
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (width === 0) return;
    const chart = Plot.plot({
      width,
      height,
      style: { background: "transparent", fontFamily: "var(--sans)", fontSize: "11px" },
      ...draw(Plot),
    });
    // A style element counts when it is put on the page, and only with the page's nonce.
    for (const style of chart.querySelectorAll("style")) style.nonce = nonce;
    // Its parts have labels that no role allows; all is said by the label of the whole.
    chart.setAttribute("aria-hidden", "true");
    // The chart is one picture with one name; names of its parts are for no one.
    for (const part of chart.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    place.current!.replaceChildren(chart);
  }, [draw, width, height]);
  return (
    <div
      ref={place}
      role="img"
      aria-label={label}
      style={{ minHeight: height, color: "var(--text-2)" }}
    />
  );
}
