/** Selectors: which nodes a text like `+orders+1 kind:stream,state:failed` means.
 *
 * Words are joined (union); what is joined by commas in a word must all hold (intersection). A plus
 * before or after takes what is upstream or downstream along, with a number only so many steps.
 */
import { shown } from "~/lib/names";
import { type Graph, kindOf, type LakeNode } from "./graph";

const KINDS = ["repo", "schedule", "pipeline", "stream", "ingest"];
const STATES = [
  "new",
  "created",
  "waiting",
  "running",
  "finishing",
  "success",
  "failure",
  "killed",
  "unrunnable",
  "idle",
  "paused",
  "failed",
];
const ATOM = /^(?:(\d*)(\+))?(.*?)(?:(\+)(\d*))?$/;

export class BadSelector extends Error {}

interface Atom {
  up: number;
  down: number;
  matches: (node: LakeNode) => boolean;
  /** What a plain word means when nothing has that very name. */
  otherwise?: (node: LakeNode) => boolean;
}

const steps = (plus: string | undefined, number: string | undefined): number =>
  plus ? (number ? Number(number) : Number.POSITIVE_INFINITY) : 0;

const glob = (pattern: string): RegExp =>
  new RegExp(
    `^${[...pattern].map((c) => (c === "*" ? ".*" : c.replace(/[^\w]/, "\\$&"))).join("")}$`,
    "i",
  );

const oneOf = (what: string, value: string, known: string[]): void => {
  if (!known.includes(value)) {
    throw new BadSelector(
      `There is no ${what} "${value}". It is one of: ${[...known].sort().join(", ")}.`,
    );
  }
};

function matcher(pattern: string): Pick<Atom, "matches" | "otherwise"> {
  const colon = pattern.indexOf(":");
  if (colon < 0) {
    if (pattern.includes("*")) {
      const found = glob(pattern);
      return { matches: ({ name }) => found.test(name.repo) || found.test(shown(name)) };
    }
    const low = pattern.toLowerCase();
    return {
      matches: ({ name }) =>
        [name.repo, shown(name), `${name.project}/${name.repo}`].some(
          (one) => one.toLowerCase() === low,
        ),
      otherwise: ({ name }) => shown(name).toLowerCase().includes(low),
    };
  }
  const [what, value] = [pattern.slice(0, colon), pattern.slice(colon + 1)];
  if (!value) throw new BadSelector(`"${what}:" needs a value, like ${what}:x.`);
  switch (what) {
    case "kind":
      oneOf("kind", value, KINDS);
      return { matches: (node) => kindOf(node) === value };
    case "state":
      oneOf("state", value, STATES);
      return { matches: (node) => node.state === value };
    case "project": {
      const found = glob(value);
      return { matches: ({ name }) => found.test(name.project) };
    }
    default:
      throw new BadSelector(`One cannot select by "${what}:". Use kind:, state: or project:.`);
  }
}

function atomOf(text: string): Atom {
  const [, upNumber, upPlus, pattern = "", downPlus, downNumber] = ATOM.exec(text) ?? [];
  if (!pattern || pattern.includes("+")) {
    throw new BadSelector(
      `"${text}" is not a selector. A name goes between the pluses: +orders, 2+orders+1.`,
    );
  }
  return { up: steps(upPlus, upNumber), down: steps(downPlus, downNumber), ...matcher(pattern) };
}

function reach(from: Set<string>, next: Map<string, string[]>, most: number): Set<string> {
  const found = new Set(from);
  let edge = [...from];
  for (let step = 0; step < most && edge.length > 0; step += 1) {
    edge = edge.flatMap((id) => next.get(id) ?? []).filter((id) => !found.has(id));
    for (const id of edge) found.add(id);
  }
  return found;
}

function chosenBy(atom: Atom, graph: Graph): Set<string> {
  const having = (test: (node: LakeNode) => boolean) =>
    new Set([...graph.nodes].filter(([, node]) => test(node)).map(([id]) => id));
  let found = having(atom.matches);
  if (found.size === 0 && atom.otherwise) found = having(atom.otherwise);
  const above = reach(found, graph.up, atom.up);
  return new Set([...above, ...reach(found, graph.down, atom.down)]);
}

/** The nodes that a selector means; null if it is empty and means none in particular. */
export function select(text: string, graph: Graph): Set<string> | null {
  const words = text.split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const found = new Set<string>();
  for (const word of words) {
    const [first, ...others] = word.split(",").map((one) => chosenBy(atomOf(one), graph));
    for (const id of first ?? []) {
      if (others.every((other) => other.has(id))) found.add(id);
    }
  }
  return found;
}
