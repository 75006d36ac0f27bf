import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { deleteEnvironment, type EnvironmentStatus, type Place } from "~/api/environments";
import { ActionDialog } from "~/ui/Dialog";
import { Check } from "~/ui/Field";
import { say } from "~/ui/toast";
import { hasOwn } from "./words";

interface Props {
  place: Place;
  status: EnvironmentStatus;
  onClose: () => void;
  /** It is being deleted, or could not be. */
  onGoes: (goes: boolean) => void;
}

export function DeleteDialog({ place, status, onClose, onGoes }: Props) {
  const client = useQueryClient();
  const go = useNavigate();
  const { base, name } = status.environment;
  const [force, setForce] = useState(false);
  const remove = async () => {
    onGoes(true);
    try {
      await deleteEnvironment(place, force);
    } catch (failed) {
      onGoes(false);
      throw failed;
    }
    await go("/environments");
    void client.invalidateQueries();
    say(`Deleted the environment ${name}.`);
  };
  const loses = hasOwn(status);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Delete the environment ${name}?`}
      about="Its branches go, and the pipelines that were only there. Jobs that run in it are stopped."
      action="Delete"
      danger
      ready={!loses || force}
      doing={remove}
    >
      {loses && (
        <Check
          label={`It has what ${base} has not. Delete that too`}
          checked={force}
          onChange={setForce}
        />
      )}
    </ActionDialog>
  );
}
