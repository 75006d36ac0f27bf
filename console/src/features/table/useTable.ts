import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { type Described, tableQueries } from "~/api/tables";
import { useAt } from "~/features/moment/useMoment";
import { full } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { firstPath, type Place } from "./place";

/** A table at a commit: what every tab needs. */
export interface Shown extends Described {
  place: Place;
}

/** Which table and version the URL asks for, and what they are. */
export function useTable() {
  const { project = "", repo = "" } = useParams();
  const name = { project, repo };
  const [params] = useQueryState();
  const at = useAt(name);
  const tables = useQuery({
    ...tableQueries.ofRepo(name, at ?? ""),
    enabled: typeof at === "string",
  });
  const path = params.get("path") ?? (tables.data && firstPath(tables.data));
  const table = useQuery({
    ...tableQueries.one(name, at ?? "", path ?? "/"),
    enabled:
      typeof at === "string" &&
      path !== undefined &&
      (params.has("path") || (tables.data?.length ?? 0) > 0),
    // Another version of the same table comes in its place; another table does not.
    placeholderData: (before, query) =>
      query?.queryKey[1] === full(name) && query.queryKey[4] === path ? before : undefined,
  });
  return { name, at, path, tables, table };
}
