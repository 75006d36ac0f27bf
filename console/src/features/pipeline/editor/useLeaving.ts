import { useEffect } from "react";
import { useBlocker } from "react-router";

/** Asks before what was written is left: for another screen, another tab, or another site. */
export function useLeaving(dirty: boolean) {
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  return useBlocker(({ currentLocation: here, nextLocation: there }) => {
    const tab = (search: string) => new URLSearchParams(search).get("tab");
    return dirty && (here.pathname !== there.pathname || tab(here.search) !== tab(there.search));
  });
}
