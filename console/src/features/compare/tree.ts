/** Changed files as they are listed: one below the other, or in their folders. */
import type { Change } from "~/api/compare";

export interface Line {
  path: string;
  /** What is shown of the path. */
  text: string;
  depth: number;
  /** The file, or for a folder how many changes are below it. */
  change?: Change;
  below: number;
  open: boolean;
}

export interface Wanted {
  text: string;
  change: string;
  flat: boolean;
  closed: ReadonlySet<string>;
}

export function chosenOf(changes: Change[], { text, change }: Wanted): Change[] {
  const part = text.trim().toLowerCase();
  return changes.filter(
    (one) => (!change || one.change === change) && one.path.toLowerCase().includes(part),
  );
}

function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(2).map((_, n) => parts.slice(0, n + 2).join("/"));
}

/** The lines of a list, in the order of paths. Folders that are closed hide what is below them. */
export function linesOf(changes: Change[], wanted: Wanted): Line[] {
  const chosen = chosenOf(changes, wanted);
  if (wanted.flat)
    return chosen.map((change) => ({
      path: change.path,
      text: change.path,
      depth: 0,
      change,
      below: 0,
      open: false,
    }));
  const below = new Map<string, number>();
  for (const { path } of chosen)
    for (const folder of foldersOf(path)) below.set(folder, (below.get(folder) ?? 0) + 1);
  const lines: Line[] = [];
  const told = new Set<string>();
  for (const change of chosen) {
    const folders = foldersOf(change.path);
    const hiddenBy = folders.findIndex((folder) => wanted.closed.has(folder));
    folders.slice(0, hiddenBy < 0 ? undefined : hiddenBy + 1).forEach((path, depth) => {
      if (told.has(path)) return;
      told.add(path);
      lines.push({
        path,
        text: `${path.slice(path.lastIndexOf("/") + 1)}/`,
        depth,
        below: below.get(path) ?? 0,
        open: !wanted.closed.has(path),
      });
    });
    if (hiddenBy < 0)
      lines.push({
        path: change.path,
        text: change.path.slice(change.path.lastIndexOf("/") + 1),
        depth: folders.length,
        change,
        below: 0,
        open: false,
      });
  }
  return lines;
}

/** How many bytes a change added. */
export const grown = ({ old_size, new_size }: Change): number => (new_size ?? 0) - (old_size ?? 0);
