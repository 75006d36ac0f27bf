import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { replay } from "~/api/checks";
import { tableQueries } from "~/api/tables";
import { shortId } from "~/lib/format";
import { shown as nameOf } from "~/lib/names";
import { Button, ButtonLink } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Failure } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { say } from "~/ui/toast";
import { tablePath } from "./place";
import { RowsGrid } from "./RowsGrid";
import type { Shown } from "./useTable";

/** Why the rows of a folder are not in the table. */
export function asideTitle(path: string): string {
  const [, kind, ...rest] = path.split("/");
  const of = rest.join("/");
  if (kind === "_quarantine") return `Quarantined by ${of}`;
  if (kind === "_late") return `Late rows of ${of}`;
  return of ? `Malformed rows of ${of}` : "Malformed rows";
}

/** Rows that were set aside, as of the version that is looked at. */
export function Asides({ shown: { place, commit } }: { shown: Shown }) {
  const [replaying, setReplaying] = useState<string>();
  const asides = useQuery(tableQueries.asides(place.name, commit));
  if (asides.error) return <Failure error={asides.error} />;
  return (
    <>
      {asides.data?.map((path) => {
        const rule = path.startsWith("/_quarantine/") ? path.split("/")[2] : undefined;
        return (
          <Panel
            key={path}
            title={asideTitle(path)}
            actions={
              <>
                {rule && (
                  <Button small icon={RotateCcw} onClick={() => setReplaying(rule)}>
                    Compute again
                  </Button>
                )}
                <ButtonLink small to={tablePath({ name: place.name, path }, { at: commit })}>
                  Open as a table
                </ButtonLink>
              </>
            }
          >
            <RowsGrid
              place={{ name: place.name, path }}
              commit={commit}
              label={asideTitle(path)}
              height="240px"
            />
          </Panel>
        );
      })}
      <ActionDialog
        open={replaying !== undefined}
        onClose={() => setReplaying(undefined)}
        title={`Compute again what ${replaying} set aside`}
        about={`A job of ${nameOf(place.name)} runs the datums that own such rows, and no others, with the code of now.`}
        action="Compute again"
        doing={async () => {
          const { job } = await replay(place.name, replaying);
          say(job ? `Job ${shortId(job)} is waiting.` : "Nothing was to be computed.");
        }}
      />
    </>
  );
}
