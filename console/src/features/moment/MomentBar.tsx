import { History } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { useLocation } from "react-router";
import { Button } from "~/ui/Button";
import { useMoment } from "./useMoment";

const Timeline = lazy(() => import("./Timeline"));

/** The timeline: on the graph always, elsewhere when it was opened or the past is looked at.
 *
 * Its button stands in the shell's bar, which is there before it.
 */
export function MomentBar() {
  const moment = useMoment();
  const { pathname } = useLocation();
  const [open, setOpen] = useState(false);
  const [bar, setBar] = useState<Element | null>(null);
  useEffect(() => setBar(document.querySelector("header")), []);
  const always = pathname === "/graph" || moment !== undefined;
  return (
    <>
      {bar &&
        !always &&
        createPortal(
          <Button kind="ghost" icon={History} aria-expanded={open} onClick={() => setOpen(!open)}>
            Time travel
          </Button>,
          bar,
        )}
      {(always || open) && (
        <Suspense>
          <Timeline />
        </Suspense>
      )}
    </>
  );
}
