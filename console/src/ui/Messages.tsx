/** What a screen says when it has nothing to show, not yet, or not at all. */
import { type LucideIcon, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { asApiError } from "~/api/errors";
import { Button } from "./Button";
import styles from "./Messages.module.css";

/** Nothing here, and what to do next. `command` is what one would type in a terminal. */
export function Empty({
  title,
  icon: Icon,
  command,
  children,
}: {
  title: string;
  icon?: LucideIcon;
  command?: string;
  children?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      {Icon && <Icon size={28} aria-hidden />}
      <h2>{title}</h2>
      {children && <div>{children}</div>}
      {command && (
        <pre>
          <code>{command}</code>
        </pre>
      )}
    </div>
  );
}

/** An error in the API's own words. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, hint, requestId } = asApiError(error);
  return (
    <div className={styles.failure} role="alert">
      <TriangleAlert size={18} aria-hidden />
      <div className="grow">
        <p>{message}</p>
        {hint && <p className="dim">{hint}</p>}
        {requestId && <p className="dim mono">request {requestId}</p>}
      </div>
      {retry && (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Note({ children }: { children: ReactNode }) {
  return (
    <div className={styles.note} role="note">
      <TriangleAlert
        size={16}
        aria-hidden
        color="var(--wait)"
        style={{ flex: "none", marginTop: 2 }}
      />
      <div className="grow">{children}</div>
    </div>
  );
}

export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div className={styles.loading} role="status" aria-label={what}>
      <i />
      <i />
      <i />
    </div>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch?: () => unknown;
}

/** What a query gave, or what became of it instead. An old answer stays while a new one is fetched. */
export function Answer<T>({ of, children }: { of: Asked<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Failure error={of.error} retry={() => of.refetch?.()} />;
  return <Loading />;
}
