import { ChevronDown, KeyRound } from "lucide-react";
import { Button } from "~/ui/Button";
import { Check } from "~/ui/Field";
import { Popover } from "~/ui/Menu";
import styles from "./Compare.module.css";

/** Chooses the columns that tell which old and new rows belong together. */
export function KeyPicker({
  columns,
  chosen,
  onChange,
}: {
  columns: string[];
  chosen: string[];
  onChange: (key: string[]) => void;
}) {
  const all = [...new Set([...chosen, ...columns])];
  return (
    <Popover
      body={
        <fieldset className={styles.keys}>
          <legend>Rows belong together if these are the same</legend>
          {all.map((name) => (
            <Check
              key={name}
              label={name}
              checked={chosen.includes(name)}
              onChange={(now) =>
                onChange(now ? [...chosen, name] : chosen.filter((one) => one !== name))
              }
            />
          ))}
        </fieldset>
      }
    >
      <Button icon={KeyRound}>
        <span className={`clip ${styles.key}`}>
          {chosen.length > 0 ? `Key: ${chosen.join(", ")}` : "No key: whole rows"}
        </span>
        <ChevronDown size={13} aria-hidden />
      </Button>
    </Popover>
  );
}
