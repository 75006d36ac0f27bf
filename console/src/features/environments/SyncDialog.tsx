import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type EnvironmentStatus,
  environmentQueries,
  type Place,
  type Strategy,
  syncEnvironment,
} from "~/api/environments";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field, Select } from "~/ui/Field";
import { Answer, Failure } from "~/ui/Messages";
import { Done, Planned } from "./Report";
import { useAct } from "./useAct";

interface Props {
  place: Place;
  status: EnvironmentStatus;
  onClose: () => void;
}

/** Brings it what its base got since. */
export function SyncDialog({ place, status, onClose }: Props) {
  const { base, name } = status.environment;
  const [strategy, setStrategy] = useState<Strategy>(null);
  const { busy, error, done, act } = useAct();
  const plan = useQuery({ ...environmentQueries.sync(place, strategy), enabled: !done });
  const title = `Sync ${name} with ${base}`;
  if (done)
    return (
      <Dialog open onClose={onClose} title={title} foot={<Button onClick={onClose}>Close</Button>}>
        <Done report={done} />
      </Dialog>
    );
  const conflicts = plan.data?.conflicts.length ?? 0;
  const ready = plan.data && !plan.isFetching && !plan.error && conflicts === 0;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      about={`What ${base} got since is brought to ${name}: data, code, and what was computed from them.`}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={busy}
            disabled={!ready || plan.data?.steps.length === 0}
            onClick={() => void act(syncEnvironment(place, strategy))}
          >
            Sync
          </Button>
        </>
      }
    >
      <Answer of={plan.error ? { ...plan, data: undefined } : plan}>
        {(report) => <Planned report={report} />}
      </Answer>
      {(conflicts > 0 || strategy) && (
        <Field label="Where both have changed">
          <Select
            value={strategy ?? ""}
            onChange={(event) => setStrategy((event.target.value || null) as Strategy)}
            options={[
              { value: "", text: "Do nothing" },
              { value: "ours", text: `Keep what ${name} has` },
              { value: "theirs", text: `Take what ${base} has` },
            ]}
          />
        </Field>
      )}
      {error !== null && <Failure error={error} />}
    </Dialog>
  );
}
