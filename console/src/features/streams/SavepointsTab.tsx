import { useQuery, useQueryClient } from "@tanstack/react-query";
import { BookmarkPlus } from "lucide-react";
import { useState } from "react";
import { flowQueries, takeSavepoint } from "~/api/flows";
import type { RepoName, Schema } from "~/api/types";
import { bytes, shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { attempt } from "~/ui/toast";

type Savepoint = Schema<"Savepoint">;

/** State that is kept for longer than `retain` says. */
export function SavepointsTab({
  name,
  onRewind,
}: {
  name: RepoName;
  onRewind: (commit: string) => void;
}) {
  const savepoints = useQuery(flowQueries.savepoints(name));
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    if (await attempt(takeSavepoint(name), `Kept the state of ${shown(name)}.`)) {
      await client.invalidateQueries({ queryKey: flowQueries.savepoints(name).queryKey });
    }
    setBusy(false);
  };
  const columns: Column<Savepoint>[] = [
    { id: "batch", title: "Batch", cell: (s) => s.batch, right: true },
    { id: "epoch", title: "Epoch", cell: (s) => s.epoch, right: true },
    {
      id: "commit",
      title: "Commit",
      cell: (s) => <span className="mono">{shortId(s.commit)}</span>,
    },
    { id: "made", title: "Made", cell: (s) => <Time at={s.made} /> },
    {
      id: "where",
      title: "Kept in",
      cell: (s) => (
        <Link to={`${paths.repo(s.repo)}?${new URLSearchParams({ at: s.id })}`}>
          {shown(s.repo)}
        </Link>
      ),
      wide: true,
    },
    { id: "size", title: "Size", cell: (s) => bytes(s.bytes), right: true },
    {
      id: "do",
      title: "",
      cell: (s) => (
        <Button
          small
          onClick={() => onRewind(s.commit)}
          aria-label={`Rewind to the savepoint of batch ${s.batch}`}
        >
          Rewind
        </Button>
      ),
    },
  ];
  return (
    <Panel
      title="Savepoints"
      actions={
        <Button small icon={BookmarkPlus} busy={busy} onClick={() => void take()}>
          Make a savepoint
        </Button>
      }
    >
      <Answer of={savepoints}>
        {(all) => (
          <List
            label="Savepoints"
            items={all}
            columns={columns}
            keyOf={(one) => one.id}
            empty={
              <Empty title="No savepoints" command={`trunkline stream savepoint ${shown(name)}`}>
                A savepoint keeps the state after the newest batch, however many come after it.
              </Empty>
            }
          />
        )}
      </Answer>
    </Panel>
  );
}
