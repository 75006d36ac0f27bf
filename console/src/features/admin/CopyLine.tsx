import { Copy } from "lucide-react";
import { Button } from "~/ui/Button";
import { attempt } from "~/ui/toast";
import styles from "./Admin.module.css";

/** A text to take along. */
export function CopyLine({ label, text }: { label: string; text: string }) {
  const copy = async () => {
    if (!navigator.clipboard) throw new Error("This page may not copy: select the text instead.");
    await navigator.clipboard.writeText(text);
  };
  return (
    <div>
      <p className="dim">{label}</p>
      <div className={styles.secret}>
        <code>{text}</code>
        <Button
          small
          icon={Copy}
          label={`Copy: ${label}`}
          onClick={() => void attempt(copy(), "Copied.")}
        />
      </div>
    </div>
  );
}
