import { X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { asApiError } from "~/api/errors";
import { Button } from "./Button";
import styles from "./Overlays.module.css";

interface Toast {
  id: number;
  text: ReactNode;
  bad: boolean;
}

const SHOWN = 6000;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function add(text: ReactNode, bad: boolean): void {
  last += 1;
  const id = last;
  change([...toasts, { id, text, bad }]);
  // Errors stay until they are read.
  if (!bad) setTimeout(() => dismiss(id), SHOWN);
}

const dismiss = (id: number): void => change(toasts.filter((one) => one.id !== id));

/** Says that something was done. */
export const say = (text: ReactNode): void => add(text, false);

/** Says that something failed, in the API's own words. */
export function complain(error: unknown): void {
  const { message, hint } = asApiError(error);
  add(
    <>
      {message}
      {hint && <span className="dim"> {hint}</span>}
    </>,
    true,
  );
}

/** Does something; failures are shown. Tells whether it went well. */
export async function attempt(doing: Promise<unknown>, done?: ReactNode): Promise<boolean> {
  try {
    await doing;
    if (done) say(done);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <section className={styles.toasts} aria-live="polite" aria-label="Messages">
      {shown.map((toast) => (
        <div key={toast.id} className={`${styles.toast} ${toast.bad ? styles.bad : ""}`}>
          <div className="grow">{toast.text}</div>
          <Button small kind="ghost" icon={X} label="Dismiss" onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </section>
  );
}
