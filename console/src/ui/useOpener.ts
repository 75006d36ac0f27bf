import { useRef } from "react";

/** What has the focus, or, in a menu that is about to close, what opened the menu. */
function focused(): HTMLElement | null {
  const now = document.activeElement;
  const trigger = now?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  const found = trigger ? document.getElementById(trigger) : now;
  return found instanceof HTMLElement ? found : null;
}

/** For a dialog's `onCloseAutoFocus`: gives the focus back to where it was when it opened.
 *
 * Radix does so only for dialogs with a trigger of their own; ours are opened by anything.
 */
export function useOpener(open: boolean): (event: Event) => void {
  const opener = useRef<HTMLElement | null>(null);
  const was = useRef(false);
  // While rendering: a field that takes the focus by itself does so before any effect.
  if (open !== was.current) {
    was.current = open;
    if (open) opener.current = focused();
  }
  return (event) => {
    event.preventDefault();
    opener.current?.focus();
  };
}
