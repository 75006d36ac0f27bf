import { useQuery } from "@tanstack/react-query";
import { tableQueries } from "~/api/tables";
import { count } from "~/lib/format";
import { useParam } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Empty } from "~/ui/Messages";
import type { Shown } from "./useTable";
import { MANY_ROWS } from "./values";

/** The profile of a table: made at once if it is small, else when asked for. */
export function useProfile({ place, commit, info }: Shown, column?: string) {
  const [asked, ask] = useParam("profile");
  const waits = (info.rows ?? Number.POSITIVE_INFINITY) > MANY_ROWS && asked !== "yes";
  const profile = useQuery({
    ...tableQueries.profile(place.name, commit, place.path, column),
    enabled: !waits,
  });
  return { profile, waits, ask: () => ask("yes") };
}

/** Says why there is no profile yet, and makes one. */
export function AskForProfile({ rows, ask }: { rows?: number | null; ask: () => void }) {
  return (
    <Empty title="Not profiled yet">
      <p>
        {rows ? `It has ${count(rows)} rows. ` : "How many rows it has is not known. "}
        All of them are read for a profile, which may take a while.
      </p>
      <p style={{ marginTop: "var(--s3)" }}>
        <Button kind="primary" onClick={ask}>
          Profile the table
        </Button>
      </p>
    </Empty>
  );
}
