import { type UseQueryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { EnvironmentReport } from "~/api/environments";
import type { Key } from "~/api/keys";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Answer, Failure } from "~/ui/Messages";
import { Done, Planned } from "./Report";

interface Props {
  title: string;
  about: string;
  /** The word on the button. */
  action: string;
  plan: UseQueryOptions<EnvironmentReport, Error, EnvironmentReport, Key>;
  doing: () => Promise<EnvironmentReport>;
  onClose: () => void;
  /** What can be chosen, when it is known what would be done, or why nothing can. */
  choices: (planned: { report: EnvironmentReport | undefined; refused: boolean }) => ReactNode;
}

/** Says what would be done, step by step, and then does it. */
export function PlannedDialog({ title, about, action, plan, doing, onClose, choices }: Props) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState<EnvironmentReport>();
  const planned = useQuery({ ...plan, enabled: !done });
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      setDone(await doing());
      // Nearly everything that is shown may be another now.
      void client.invalidateQueries();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  if (done)
    return (
      <Dialog open onClose={onClose} title={title} foot={<Button onClick={onClose}>Close</Button>}>
        <Done report={done} />
      </Dialog>
    );
  const refused = planned.error !== null;
  const report = refused ? undefined : planned.data;
  const ready =
    report && !planned.isFetching && report.conflicts.length === 0 && report.steps.length > 0;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      about={about}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} disabled={!ready} onClick={() => void act()}>
            {action}
          </Button>
        </>
      }
    >
      <Answer of={{ ...planned, data: report }}>{(found) => <Planned report={found} />}</Answer>
      {choices({ report, refused })}
      {error !== null && <Failure error={error} />}
    </Dialog>
  );
}
