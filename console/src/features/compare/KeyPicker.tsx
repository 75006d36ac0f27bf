import { ChevronDown, KeyRound } from "lucide-react";
import { useState } from "react";
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
  // The URL follows a little later than the hand.
  const [picked, setPicked] = useState(chosen);
  const all = [...new Set([...chosen, ...columns])];
  const pick = (key: string[]) => {
    setPicked(key);
    onChange(key);
  };
  return (
    <Popover
      body={
        <fieldset className={styles.keys}>
          <legend>Rows belong together if these are the same</legend>
          {all.map((name) => (
            <Check
              key={name}
              label={name}
              checked={picked.includes(name)}
              onChange={(now) =>
                pick(now ? [...picked, name] : picked.filter((one) => one !== name))
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
