/** The reader's last queries, kept in this browser. */
import type { Asked } from "~/api/sql";

export interface Past extends Asked {
  when: string;
}

const KEY = "trunkline.sql.history";
const MOST = 100;
const LONGEST = 20_000;

export function past(): Past[] {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.text === "string") : [];
  } catch {
    return [];
  }
}

/** Puts a query first. One that is there already moves up. */
export function remember(asked: Asked, now = new Date()): void {
  if (asked.text.length > LONGEST) return;
  const others = past().filter(
    (one) => one.text !== asked.text || one.at !== asked.at || one.engine !== asked.engine,
  );
  const kept = [{ ...asked, when: now.toISOString() }, ...others].slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // A full or forbidden storage costs the history, nothing else.
  }
}

export const forget = (): void => localStorage.removeItem(KEY);
