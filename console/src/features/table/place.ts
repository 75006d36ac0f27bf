/** Which table a screen is about: names as the API, the URL and SQL write them. */
import type { RepoName, TableInfo } from "~/api/types";
import { parseName, paths, shown } from "~/lib/names";

export interface Place {
  name: RepoName;
  path: string;
}

const ID = /^[0-9a-f]{32}$/;

export const isId = (at: string): boolean => ID.test(at);

/** The repo of a table that a list told of: its name is a ref such as `lab/shop@main:/items`. */
export const placeOf = (info: TableInfo): Place => ({
  name: parseName(info.name.slice(0, info.name.indexOf("@"))),
  path: info.path,
});

/** What people call it: `shop`, or `shop:/items` for a folder. */
export const titleOf = ({ name, path }: Place): string =>
  path === "/" ? shown(name) : `${shown(name)}:${path}`;

export function tablePath(place: Place, query: Record<string, string> = {}): string {
  const asked = new URLSearchParams(place.path === "/" ? query : { path: place.path, ...query });
  const text = asked.toString();
  return text ? `${paths.table(place.name)}?${text}` : paths.table(place.name);
}

/** Where SQL over a table at a version is written. */
export function sqlPath({ name, path }: Place, at: string): string {
  const version = at === "main" && path === "/" ? "" : `@${at}`;
  const text = `${shown(name)}${version}${path === "/" ? "" : `:${path}`}`;
  return paths.sql(`SELECT * FROM "${text.replaceAll('"', '""')}" LIMIT 100`);
}

/** The table that is shown when the URL names none: that of the whole repo, else the first. */
export const firstPath = (tables: TableInfo[]): string =>
  tables.some((one) => one.path === "/") ? "/" : (tables[0]?.path ?? "/");
