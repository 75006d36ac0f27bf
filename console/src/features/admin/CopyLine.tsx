import { Copy } from "lucide-react";
import { Button } from "~/ui/Button";
import { copy } from "~/ui/copy";
import styles from "./Admin.module.css";

/** A text to take along. */
export function CopyLine({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <p className="dim">{label}</p>
      <div className={styles.secret}>
        <code>{text}</code>
        <Button
          small
          icon={Copy}
          label={`Copy: ${label}`}
          onClick={() => void copy(text, "Copied.")}
        />
      </div>
    </div>
  );
}
