import type { Batch, RepoName } from "~/api/types";
import { tablePath } from "~/features/table/place";
import { count, seconds, shortId } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { batchText, offsetsText, rewindable } from "./figures";
import type { useBatches } from "./useBatches";

/** Every batch that made a commit, with what it read and wrote. */
export function BatchesTab({
  name,
  of: { asked, batches },
  onRewind,
}: {
  name: RepoName;
  of: ReturnType<typeof useBatches>;
  /** Only streams go back. */
  onRewind?: (commit: string) => void;
}) {
  const back = new Set(rewindable(batches));
  const columns: Column<Batch>[] = [
    { id: "batch", title: "Batch", cell: batchText, right: true },
    { id: "epoch", title: "Epoch", cell: (b) => b.epoch, right: true },
    {
      id: "commit",
      title: "Commit",
      cell: (b) => (
        <Link className="mono" to={tablePath({ name, path: "/" }, { at: b.commit })}>
          {shortId(b.commit)}
        </Link>
      ),
    },
    { id: "at", title: "When", cell: (b) => <Time at={b.at} /> },
    {
      id: "read",
      title: "Read",
      cell: (b) => <span className="mono dim">{offsetsText(b)}</span>,
      wide: true,
    },
    { id: "in", title: "Rows in", cell: (b) => count(b.rows_in), right: true },
    { id: "out", title: "Out", cell: (b) => count(b.rows_out), right: true },
    ...(onRewind
      ? [
          { id: "late", title: "Late", cell: (b: Batch) => count(b.late), right: true },
          { id: "mark", title: "Watermark", cell: (b: Batch) => <Time at={b.watermark} /> },
          { id: "state", title: "State", cell: (b: Batch) => count(b.state_rows), right: true },
        ]
      : []),
    { id: "bad", title: "Malformed", cell: (b) => count(b.malformed), right: true },
    { id: "took", title: "Took", cell: (b) => seconds(b.seconds), right: true },
    ...(onRewind
      ? [
          {
            id: "do",
            title: "",
            cell: (b: Batch) =>
              back.has(b) && (
                <Button
                  small
                  onClick={() => onRewind(b.commit)}
                  aria-label={`Rewind to batch ${batchText(b)}`}
                >
                  Rewind
                </Button>
              ),
          },
        ]
      : []),
  ];
  return (
    <Panel>
      <Answer of={asked}>
        {() => (
          <List
            label="Batches"
            items={batches}
            columns={columns}
            keyOf={(one) => `${one.epoch}.${one.number}.${one.commit}`}
            empty={
              <Empty title="No batch yet" command="trunkline run">
                A batch is made when there is something new to read, and a worker to read it.
              </Empty>
            }
            more={moreOf(asked)}
          />
        )}
      </Answer>
    </Panel>
  );
}
