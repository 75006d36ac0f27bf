/** How numbers, sizes and times are written. Times are in the reader's own zone. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const dated = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const clock = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

export const count = (n: number): string => whole.format(n);
export const compact = (n: number): string => short.format(n);

/** "1 row", "2,000 rows". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let size = n;
  let unit = -1;
  do {
    size /= 1000;
    unit += 1;
  } while (size >= 999.5 && unit < units.length - 1);
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

export function seconds(s: number): string {
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.round((s % 86400) / 3600)} h`;
}

/** Seconds from one moment to another, or to now. */
export function between(start: string, end: string | null | undefined, now = Date.now()): number {
  return Math.max(0, ((end ? Date.parse(end) : now) - Date.parse(start)) / 1000);
}

export function ago(at: string, now = Date.now()): string {
  const past = (Date.parse(at) - now) / 1000;
  const size = Math.abs(past);
  if (size < 5) return "now";
  if (size < 60) return relative.format(Math.round(past), "second");
  if (size < 3600) return relative.format(Math.round(past / 60), "minute");
  if (size < 86400) return relative.format(Math.round(past / 3600), "hour");
  if (size < 86400 * 30) return relative.format(Math.round(past / 86400), "day");
  return clock.format(new Date(at));
}

export const exactly = (at: string): string => dated.format(new Date(at));
export const briefly = (at: string): string => clock.format(new Date(at));

/** What a person needs of an ID of 32 digits. */
export const shortId = (id: string): string => id.slice(0, 12);
