import { History } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "react-router";
import { Button } from "~/ui/Button";
import { useMoment } from "./useMoment";

const Timeline = lazy(() => import("./Timeline"));

/** Whether the timeline is shown: on the graph always, elsewhere when it was opened or the past is
 * looked at. The shell has its button in one place and the timeline in another.
 */
export function useTimeline() {
  const moment = useMoment();
  const { pathname } = useLocation();
  const [open, setOpen] = useState(false);
  const always = pathname === "/graph" || moment !== undefined;
  return { always, open: always || open, turn: () => setOpen(!open) };
}

type Shown = ReturnType<typeof useTimeline>;

export function TimelineButton({ shown }: { shown: Shown }) {
  if (shown.always) return null;
  return (
    <Button kind="ghost" icon={History} aria-expanded={shown.open} onClick={shown.turn}>
      Time travel
    </Button>
  );
}

export function MomentBar({ shown }: { shown: Shown }) {
  if (!shown.open) return null;
  return (
    <Suspense>
      <Timeline />
    </Suspense>
  );
}
