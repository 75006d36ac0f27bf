import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { EnvironmentReport } from "~/api/environments";

/** Something that is done once; then nearly everything that is shown may be another. */
export function useAct() {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState<EnvironmentReport>();
  const act = async (doing: Promise<EnvironmentReport>) => {
    setBusy(true);
    setError(null);
    try {
      setDone(await doing);
      void client.invalidateQueries();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, done, act };
}
