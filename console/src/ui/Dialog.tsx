import { Dialog as Radix } from "radix-ui";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Button } from "./Button";
import { Failure } from "./Messages";
import styles from "./Overlays.module.css";
import { useOpener } from "./useOpener";

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
  foot?: ReactNode;
  /** What Enter does in a field of one line. */
  onEnter?: (() => void) | undefined;
}

const LINES = 'input:not([type="checkbox"], [type="radio"], [type="file"], [role="combobox"])';

export function Dialog({ open, onClose, title, about, wide, children, foot, onEnter }: Props) {
  const giveBack = useOpener(open);
  const press = (event: KeyboardEvent) => {
    const { key, target, currentTarget, nativeEvent } = event;
    if (key !== "Enter" || !onEnter || event.defaultPrevented || nativeEvent.isComposing) return;
    // Keys pressed in a list that opened from here come by too.
    const own = target instanceof Element && currentTarget.contains(target);
    if (!own || !target.matches(LINES)) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.veil} />
        <Radix.Content
          className={`${styles.dialog} ${wide ? styles.wide : ""}`}
          onKeyDown={press}
          onCloseAutoFocus={giveBack}
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
}: Omit<Props, "foot" | "onEnter"> & {
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
      onEnter={ready && !busy ? () => void act() : undefined}
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
