/** What a JSON Schema says about a place in a document: names of fields, and values. */

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  else?: Schema;
}

export interface FieldAt {
  name: string;
  about: string;
  /** "text", "number", "list of fields" and so on. */
  type: string;
  required: boolean;
  /** What its value is: on the same line, or fields or items below. */
  shape: "value" | "fields" | "items";
}

/** The schema without references and alternatives: each way in which it can be met. */
function ways(schema: Schema | undefined, root: Schema, top: string[]): Schema[] {
  if (!schema) return [];
  if (schema.$ref) {
    const { $ref, ...own } = schema;
    const found = root.$defs?.[$ref.replace("#/$defs/", "")];
    return ways(found, root, top).map((one) => ({ ...one, ...own }));
  }
  const parts: Schema[] = [];
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    parts.push(...ways(one, root, top));
  }
  if (schema.if) {
    const met = (schema.if.required ?? []).every((name) => top.includes(name));
    // A text that says nothing yet may become either.
    if (met || top.length === 0) parts.push(...ways(schema.then, root, top));
    if (!met) parts.push(...ways(schema.else, root, top));
  }
  return parts.length > 0 ? parts : [schema];
}

function at(root: Schema, path: (string | number)[], top: string[]): Schema[] {
  let here = ways(root, root, top);
  for (const step of path) {
    here = here.flatMap((schema) => {
      if (typeof step === "number") return ways(schema.items, root, top);
      const inner = schema.properties?.[step];
      if (inner) return ways(inner, root, top);
      const other = schema.additionalProperties;
      return typeof other === "object" ? ways(other, root, top) : [];
    });
  }
  return here;
}

/** A list of pipelines may stand where one does. */
const inner = (path: (string | number)[]) => (typeof path[0] === "number" ? path.slice(1) : path);

const PLAIN: Record<string, string> = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "true or false",
};

function typeOf(schemas: Schema[]): string {
  const found = schemas.flatMap((one) => {
    if (one.enum) return [one.enum.filter((value) => value !== "").join(" | ")];
    if (one.properties || one.type === "object") return ["fields"];
    if (one.items) return ["list"];
    return [one.type ?? []].flat().map((type) => PLAIN[type] ?? "");
  });
  const told = [...new Set(found)].filter((text) => text !== "");
  return told.join(" or ");
}

/** The fields that can stand at a path. */
export function fieldsAt(root: Schema, path: (string | number)[], top: string[]): FieldAt[] {
  const found = new Map<string, FieldAt>();
  for (const schema of at(root, inner(path), top)) {
    for (const [name, raw] of Object.entries(schema.properties ?? {})) {
      const about = raw.description ?? "";
      // Taken from others' specs so that they can be read; nobody should write them.
      if (found.has(name) || /^Accepted and ignored/.test(about)) continue;
      const inside = ways(raw, root, top);
      const fields = inside.some((one) => one.properties || one.additionalProperties);
      const listed = inside.some((one) => ways(one.items, root, top).some((it) => it.properties));
      found.set(name, {
        name,
        about,
        type: typeOf(inside),
        required: schema.required?.includes(name) ?? false,
        shape: inside.some((one) => PLAIN[String(one.type)] || one.enum)
          ? "value"
          : listed
            ? "items"
            : fields
              ? "fields"
              : "value",
      });
    }
  }
  return [...found.values()];
}

/** The values that are known for a path. */
export function valuesAt(root: Schema, path: (string | number)[], top: string[]): string[] {
  const found = at(root, inner(path), top).flatMap((schema) => {
    if (schema.enum) return schema.enum.filter((value) => value !== "" && value !== null);
    if (schema.const !== undefined) return [schema.const];
    return [schema.type ?? []].flat().includes("boolean") ? ["true", "false"] : [];
  });
  return [...new Set(found.map(String))];
}
