/** Where in a YAML text the cursor stands: of which field it writes the name, or the value. */
import {
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  visit,
} from "yaml";

export interface Place {
  kind: "key" | "value";
  /** The way from the document's root: names of fields, and numbers in lists. */
  path: (string | number)[];
  /** What of the name or value stands before the cursor. */
  word: string;
  from: number;
  /** Of a name: what stands beside it already. */
  present: string[];
  /** Whether it is inside of brackets, where no line may be begun. */
  flow: boolean;
  /** The fields at the document's top. */
  top: string[];
}

const MARK = "cursorstandshere";

/** The place at a position, or null where nothing can be completed, as inside of SQL. */
export function placeAt(text: string, position: number): Place | null {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  const line = text.slice(start, position);
  const word = /[\w./$@-]*$/.exec(line)?.[0] ?? "";
  // A dash that begins an item of a list is no part of a word.
  const own = /^\s*-$/.test(line) ? "" : word;
  const from = position - own.length;
  const before = text.slice(start, from);
  if (/(^|\s)#/.test(before)) return null;
  const rest = /^[\w./$@-]*/.exec(text.slice(position))?.[0] ?? "";
  const after = text.slice(position + rest.length);
  const begins = /^\s*(-\s+)*$/.test(before);
  const colon = begins && !/^[ \t]*:/.test(after) ? ":" : "";
  const found = look(`${text.slice(0, from)}${MARK}${colon}${after}`);
  if (!found && colon) {
    // An item of a list that has no fields: a plain value.
    const plain = look(`${text.slice(0, from)}${MARK}${after}`);
    return plain && { ...plain, word: own, from };
  }
  return found && { ...found, word: own, from };
}

function look(text: string): Omit<Place, "word" | "from"> | null {
  const documents = parseAllDocuments(text, { keepSourceTokens: true, uniqueKeys: false });
  if (!Array.isArray(documents)) return null;
  for (const document of documents) {
    let found: Omit<Place, "word" | "from"> | null = null;
    visit(document, {
      Scalar(key, node, ancestors) {
        if (node.value !== MARK || node.type?.startsWith("BLOCK")) return undefined;
        const ways = ancestors.filter((one) => isPair(one) || isSeq(one)) as (Pair | Node)[];
        const chain = [...ancestors, node];
        const path: (string | number)[] = [];
        for (const one of ways) {
          if (isPair(one)) path.push(nameOf(one));
          else if (isSeq(one)) {
            path.push(one.items.indexOf(chain[chain.indexOf(one) + 1] as never));
          }
        }
        const map = [...ancestors].reverse().find(isMap);
        const isKey = key === "key";
        if (isKey) path.pop();
        found = {
          kind: isKey ? "key" : "value",
          path,
          present: isKey && map ? others(map.items) : [],
          flow: ancestors.some((one) => (isMap(one) || isSeq(one)) && one.flow === true),
          top: isMap(document.contents) ? others(document.contents.items) : [],
        };
        return visit.BREAK;
      },
    });
    if (found) return found;
  }
  return null;
}

function nameOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : "";
}

const others = (pairs: Pair[]): string[] => pairs.map(nameOf).filter((name) => name !== MARK);
