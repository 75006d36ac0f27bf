import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type EnvironmentStatus,
  environmentQueries,
  mergeEnvironment,
  type Place,
} from "~/api/environments";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Check } from "~/ui/Field";
import { Answer, Failure } from "~/ui/Messages";
import { Done, Planned } from "./Report";
import { useAct } from "./useAct";

interface Props {
  place: Place;
  status: EnvironmentStatus;
  onClose: () => void;
}

/** Publishes code and data together: what it would do first, and then it. */
export function MergeDialog({ place, status, onClose }: Props) {
  const { base } = status.environment;
  const [force, setForce] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const { busy, error, done, act } = useAct();
  const wish = { force, delete: deleting };
  const plan = useQuery({ ...environmentQueries.merge(place, wish), enabled: !done });
  const title = `Merge ${place.environment} into ${base}`;
  if (done)
    return (
      <Dialog open onClose={onClose} title={title} foot={<Button onClick={onClose}>Close</Button>}>
        <Done report={done} />
      </Dialog>
    );
  const ready = plan.data && !plan.isFetching && !plan.error && plan.data.conflicts.length === 0;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      about={`Its code and data become those of ${base}, all at once. What was computed is not computed again.`}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={busy}
            disabled={!ready || plan.data?.steps.length === 0}
            onClick={() => void act(mergeEnvironment(place, wish))}
          >
            Merge
          </Button>
        </>
      }
    >
      <Answer of={plan.error ? { ...plan, data: undefined } : plan}>
        {(report) => <Planned report={report} />}
      </Answer>
      {status.pipelines.some((one) => one.state === "deleted") && (
        <Check
          label={`Also delete in ${base} the pipelines that were deleted here`}
          checked={deleting}
          onChange={setDeleting}
        />
      )}
      {(plan.error || force) && (
        <Check
          label="Even if its last jobs failed or are not over"
          checked={force}
          onChange={setForce}
        />
      )}
      {error !== null && <Failure error={error} />}
    </Dialog>
  );
}
