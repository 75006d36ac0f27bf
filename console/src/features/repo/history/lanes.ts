/** Which lane of the drawn graph each commit is in, and the lines that pass it.
 *
 * Commits come with children before parents. A lane waits for one commit: its line goes on until
 * that commit comes, or to the end of what is loaded.
 */

export interface Knot {
  id: string;
  parent: string | null;
  merged: string[];
}

/** A line through half a row, from one lane to another; `color` is that of a lane. */
export interface Line {
  from: number;
  to: number;
  color: number;
}

export interface Row {
  lane: number;
  /** From the row's top to its middle, where the commit is. */
  above: Line[];
  /** From its middle to its bottom. */
  below: Line[];
}

export function lanes(commits: Knot[]): Row[] {
  let waiting: (string | null)[] = [];
  return commits.map(({ id, parent, merged }) => {
    const found = waiting.indexOf(id);
    const lane = found >= 0 ? found : free(waiting);
    const above = waiting.flatMap((wanted, n): Line[] =>
      wanted === null ? [] : [{ from: n, to: wanted === id ? lane : n, color: n }],
    );
    const next = waiting.map((wanted) => (wanted === id ? null : wanted));
    while (next.length <= lane) next.push(null);
    const below = next.flatMap((wanted, n): Line[] =>
      wanted === null ? [] : [{ from: n, to: n, color: n }],
    );
    const parents = new Set([...(parent ? [parent] : []), ...merged]);
    for (const one of parents) {
      let to = next.indexOf(one);
      if (to < 0) {
        to = next[lane] === null ? lane : free(next);
        next[to] = one;
      }
      below.push({ from: lane, to, color: to === lane ? lane : Math.max(to, lane) });
    }
    while (next.length > 0 && next.at(-1) === null) next.pop();
    waiting = next;
    return { lane, above, below };
  });
}

const free = (waiting: (string | null)[]): number => {
  const gap = waiting.indexOf(null);
  return gap < 0 ? waiting.length : gap;
};

/** How many lanes the widest row has. */
export const widest = (rows: Row[]): number =>
  rows.reduce(
    (most, row) =>
      Math.max(most, row.lane + 1, ...row.above.concat(row.below).map((one) => one.to + 1)),
    1,
  );
