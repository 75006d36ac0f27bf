import { CircleHelp } from "lucide-react";
import { Button } from "~/ui/Button";
import { SearchBox } from "~/ui/Field";
import { Popover } from "~/ui/Menu";
import styles from "./GraphPage.module.css";

const EXAMPLES: [selector: string, meaning: string][] = [
  ["orders", "what is called orders, or has it in its name"],
  ["+report", "report and all that it is made from"],
  ["orders+", "orders and all that is made from it"],
  ["2+report", "two steps up; orders+1 is one step down"],
  ["*rev*", "names with any letters for *"],
  ["kind:stream", "repo, schedule, pipeline, stream, ingest"],
  ["state:failure", "success, running, paused, …"],
  ["project:shop", "all of a project"],
  ["a b", "a and b: either will do"],
  ["a+,+b", "both hold: on the way from a to b"],
];

function Help({ use }: { use: (selector: string) => void }) {
  return (
    <table className={styles.help}>
      <caption>Selectors</caption>
      <tbody>
        {EXAMPLES.map(([selector, meaning]) => (
          <tr key={selector}>
            <th scope="row">
              <button type="button" onClick={() => use(selector)}>
                <code>{selector}</code>
              </button>
            </th>
            <td>{meaning}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Says which part of the graph is meant; Enter brings it into view. */
export function SelectorBox({
  value,
  problem,
  onChange,
  onEnter,
}: {
  value: string;
  problem: string;
  onChange: (text: string) => void;
  onEnter: (text: string) => void;
}) {
  return (
    <div className={styles.selector}>
      <SearchBox
        label="Find or select, like +report"
        value={value}
        onChange={onChange}
        aria-invalid={problem !== ""}
        aria-describedby="selector-result"
        onKeyDown={(event) => event.key === "Enter" && onEnter(event.currentTarget.value)}
      />
      <Popover body={<Help use={onChange} />}>
        <Button kind="ghost" icon={CircleHelp} label="How to select" />
      </Popover>
    </div>
  );
}
