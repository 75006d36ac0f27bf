/** What was opened last from the palette, in this browser. */
const KEY = "trunkline.recent";
const MOST = 6;

export interface Recent {
  kind: string;
  text: string;
  where: string;
  to: string;
}

const isRecent = (one: unknown): one is Recent =>
  typeof one === "object" &&
  one !== null &&
  ["kind", "text", "where", "to"].every((name) => typeof (one as never)[name] === "string") &&
  (one as Recent).to.startsWith("/");

export function recents(): Recent[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isRecent).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(one: Recent): void {
  const others = recents().filter((old) => old.to !== one.to);
  try {
    localStorage.setItem(KEY, JSON.stringify([one, ...others].slice(0, MOST)));
  } catch {
    // A browser that keeps nothing finds things all the same.
  }
}
