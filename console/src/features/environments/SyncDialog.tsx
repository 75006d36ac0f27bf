import { useState } from "react";
import {
  type EnvironmentStatus,
  environmentQueries,
  type Place,
  type Strategy,
  syncEnvironment,
} from "~/api/environments";
import { Field, Select } from "~/ui/Field";
import { PlannedDialog } from "./PlannedDialog";

interface Props {
  place: Place;
  status: EnvironmentStatus;
  onClose: () => void;
}

/** Brings it what its base got since. */
export function SyncDialog({ place, status, onClose }: Props) {
  const { base, name } = status.environment;
  const [strategy, setStrategy] = useState<Strategy>(null);
  return (
    <PlannedDialog
      title={`Sync ${name} with ${base}`}
      about={`What ${base} got since is brought to ${name}: data, code, and what was computed from them.`}
      action="Sync"
      plan={environmentQueries.sync(place, strategy)}
      doing={() => syncEnvironment(place, strategy)}
      onClose={onClose}
      choices={({ report }) =>
        (strategy || (report && report.conflicts.length > 0)) && (
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
        )
      }
    />
  );
}
