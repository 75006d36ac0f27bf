import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useState } from "react";
import { Button } from "./Button";
import { Failure } from "./Messages";
import styles from "./Overlays.module.css";

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
  foot?: ReactNode;
}

export function Dialog({ open, onClose, title, about, wide, children, foot }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.veil} />
        <Radix.Content
          className={`${styles.dialog} ${wide ? styles.wide : ""}`}
          {...(about ? {} : { "aria-describedby": undefined })}
        >
          <Radix.Title asChild>
            <h2>{title}</h2>
          </Radix.Title>
          {about && (
            <Radix.Description asChild>
              <div className={styles.about}>{about}</div>
            </Radix.Description>
          )}
          {children}
          {foot && <div className={styles.foot}>{foot}</div>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** A dialog with one thing to do. It stays open, with the reason, if that fails. */
export function ActionDialog({
  action,
  doing,
  danger,
  ready = true,
  ...rest
}: Omit<Props, "foot"> & {
  /** The word on the button. */
  action: string;
  doing: () => Promise<unknown>;
  danger?: boolean;
  ready?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const close = () => {
    setError(null);
    rest.onClose();
  };
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await doing();
      close();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      {...rest}
      onClose={close}
      foot={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button
            kind={danger ? "danger" : "primary"}
            busy={busy}
            disabled={!ready}
            onClick={() => void act()}
          >
            {action}
          </Button>
        </>
      }
    >
      {rest.children}
      {error !== null && <Failure error={error} />}
    </Dialog>
  );
}
