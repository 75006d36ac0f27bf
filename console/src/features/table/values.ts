/** How values of a profile are written. */
import { cellText } from "~/ui/DataGrid";

/** Profiles of larger tables are made when asked for. */
export const MANY_ROWS = 5_000_000;

const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const MIDNIGHT = /^(\d{4}-\d\d-\d\d)T00:00:00(\.0+)?(Z|\+00:00)?$/;

/** A value for people: numbers with five digits that count, days without their midnight. */
export function valueText(value: unknown): string {
  if (typeof value === "number") return precise.format(value);
  const text = cellText(value);
  return MIDNIGHT.exec(text)?.[1] ?? text;
}

/** "12.5 %", "<0.1 %": never 0 where there is something, nor 100 where something is missing. */
export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  if (part === whole) return "100 %";
  const percent = (100 * part) / whole;
  if (percent < 0.1) return "<0.1 %";
  if (percent > 99.9) return ">99.9 %";
  return `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}

export interface Bar {
  label: string;
  count: number;
}

/** The ranges of a histogram as bars: `[low, high, rows]` each. */
export const histogramBars = (ranges: unknown[][]): Bar[] =>
  ranges.map(([low, high, rows]) => ({
    label: `${valueText(low)} – ${valueText(high)}`,
    count: Number(rows),
  }));

export const topBars = (top: unknown[][]): Bar[] =>
  top.map(([value, rows]) => ({ label: valueText(value), count: Number(rows) }));

/** What a histogram shows, for those who do not see it. */
export function barsInWords(bars: Bar[]): string {
  const most = bars.reduce((a, b) => (b.count > a.count ? b : a), { label: "", count: -1 });
  const total = bars.reduce((sum, one) => sum + one.count, 0);
  return `Histogram of ${bars.length} ranges. Most values, ${share(most.count, total)}, are in ${most.label}.`;
}
