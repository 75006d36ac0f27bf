/** What the SQL editor offers: tables, their columns, and refs after an `@`. */
import {
  type CompletionContext,
  type CompletionResult,
  completeFromList,
  ifNotIn,
} from "@codemirror/autocomplete";
import { PostgreSQL, type SQLNamespace, schemaCompletionSource } from "@codemirror/lang-sql";
import type { Extension } from "@codemirror/state";
import type { TableInfo } from "~/api/types";

/** `orders@main` and `orders@main:/late` as a query names them. */
export function tableName(table: TableInfo): string {
  const [repo = "", rest = ""] = table.name.split("@", 2);
  const path = rest.includes(":") ? rest.slice(rest.indexOf(":") + 1) : "";
  const plain = /^[a-z_][a-z0-9_]*$/i.test(repo);
  if (!path) return plain ? repo : `"${repo}"`;
  return `"${table.name}"`;
}

export function namespace(tables: TableInfo[]): SQLNamespace {
  return Object.fromEntries(
    tables
      .filter((table) => !table.error)
      .map((table) => [
        tableName(table).replaceAll('"', ""),
        table.columns.map((column) => ({
          label: column.name,
          detail: column.type,
          type: "property",
        })),
      ]),
  );
}

/** After `"orders@` or `AT '`: the names of revisions that are usually meant. */
const REVISIONS = ["main", "main~1", "main~2"];

export function revisions(context: CompletionContext): CompletionResult | null {
  const found = context.matchBefore(/(@|AT\s+')[\w.~^-]*/i);
  if (!found) return null;
  const typed = /[\w.~^-]*$/.exec(found.text)?.[0] ?? "";
  return {
    from: found.to - typed.length,
    options: REVISIONS.map((label) => ({ label, type: "constant" })),
    validFor: /^[\w.~^-]*$/,
  };
}

/** Columns of all tables, wherever one types: of which table is often not known yet. */
function columnsOf(tables: TableInfo[]) {
  const seen = new Map<string, string>();
  for (const table of tables) {
    for (const column of table.columns) {
      if (!seen.has(column.name)) seen.set(column.name, `${column.type}, ${tableName(table)}`);
    }
  }
  const options = [...seen].map(([label, detail]) => ({
    label,
    detail,
    type: "property",
    boost: -1,
  }));
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/\w+/);
    if (!word || context.state.sliceDoc(word.from - 1, word.from) === ".") return null;
    return { from: word.from, options, validFor: /^\w*$/ };
  };
}

/** The words of a query. The standard has hundreds more, which hide the names one looks for. */
const WORDS =
  "ALL AND ANY AS ASC AT BETWEEN BY CASE CAST CROSS CURRENT_DATE DESC DESCRIBE DISTINCT ELSE END EXCEPT EXISTS FALSE FILTER FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION QUALIFY RECURSIVE RIGHT ROWS SELECT SHOW TABLES THEN TRUE UNION UNNEST USING VALUES WHEN WHERE WINDOW WITH avg coalesce count date_trunc max max_by min min_by round row_number sum".split(
    " ",
  );
const NO_WORDS = ["QuotedIdentifier", "String", "LineComment", "BlockComment", "."];
const words = ifNotIn(
  NO_WORDS,
  completeFromList(WORDS.map((label) => ({ label, type: "keyword", boost: -2 }))),
);

export function sqlExtension(tables: TableInfo[]): Extension {
  return [
    PostgreSQL.language,
    PostgreSQL.language.data.of({
      autocomplete: schemaCompletionSource({ dialect: PostgreSQL, schema: namespace(tables) }),
    }),
    PostgreSQL.language.data.of({ autocomplete: words }),
    PostgreSQL.language.data.of({ autocomplete: revisions }),
    PostgreSQL.language.data.of({ autocomplete: columnsOf(tables) }),
  ];
}
