import { useState } from "react";
import {
  type EnvironmentStatus,
  environmentQueries,
  mergeEnvironment,
  type Place,
} from "~/api/environments";
import { Check } from "~/ui/Field";
import { PlannedDialog } from "./PlannedDialog";

interface Props {
  place: Place;
  status: EnvironmentStatus;
  onClose: () => void;
}

/** Publishes code and data together. */
export function MergeDialog({ place, status, onClose }: Props) {
  const { base, name } = status.environment;
  const [force, setForce] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const wish = { force, delete: deleting };
  return (
    <PlannedDialog
      title={`Merge ${name} into ${base}`}
      about={`Its code and data become those of ${base}, all at once. What was computed is not computed again.`}
      action="Merge"
      plan={environmentQueries.merge(place, wish)}
      doing={() => mergeEnvironment(place, wish)}
      onClose={onClose}
      choices={({ refused }) => (
        <>
          {status.pipelines.some((one) => one.state === "deleted") && (
            <Check
              label={`Also delete in ${base} the pipelines that were deleted here`}
              checked={deleting}
              onChange={setDeleting}
            />
          )}
          {(refused || force) && (
            <Check
              label="Even if its last jobs failed or are not over"
              checked={force}
              onChange={setForce}
            />
          )}
        </>
      )}
    />
  );
}
