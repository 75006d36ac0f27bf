import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "trunkline.theme";
const system = window.matchMedia?.("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function chosen(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "system";
}

function isDark(): boolean {
  const theme = chosen();
  return theme === "dark" || (theme === "system" && Boolean(system?.matches));
}

/** Puts the chosen theme on the page. Called before the first paint. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

system?.addEventListener("change", applyTheme);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosen);
export const useIsDark = (): boolean => useSyncExternalStore(subscribe, isDark);
