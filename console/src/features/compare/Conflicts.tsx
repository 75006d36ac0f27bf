import { useState } from "react";
import type { Change, MergeReport, PathConflict, Side } from "~/api/compare";
import type { RepoName } from "~/api/types";
import { bytes } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Field, Select } from "~/ui/Field";
import styles from "./Compare.module.css";
import { FileDiff } from "./FileDiff";

const FEW = 50;
const SIDES: Side[] = ["ours", "theirs"];

interface Props {
  repo: RepoName;
  report: MergeReport;
  /** The commits of the source and the target that are looked at. */
  heads: (string | null)[];
  strategy: Side | null;
  choices: Record<string, Side>;
  onStrategy: (side: Side | null) => void;
  onChoose: (path: string, side: Side) => void;
}

const branchOf = (ref: string): string => ref.slice(ref.indexOf("@") + 1);

/** Paths that both sides changed, each to be decided. */
export function Conflicts(props: Props) {
  const { report, strategy, onStrategy } = props;
  const [shown, setShown] = useState(FEW);
  const left = report.conflicts.length - shown;
  return (
    <>
      <Field label="Where both changed a path" hint="What is chosen below goes before it.">
        <Select
          value={strategy ?? ""}
          onChange={(event) => onStrategy((event.target.value || null) as Side | null)}
          options={[
            { value: "", text: "Decide for each path" },
            { value: "ours", text: `Ours: keep what ${branchOf(report.target)} has` },
            { value: "theirs", text: `Theirs: take what ${branchOf(report.source)} has` },
          ]}
        />
      </Field>
      {report.conflicts.slice(0, shown).map((conflict) => (
        <Conflict key={conflict.path} {...props} conflict={conflict} />
      ))}
      {left > 0 && (
        <div>
          <Button small onClick={() => setShown(shown + 4 * FEW)}>
            Show more
          </Button>{" "}
          <span className="dim">{left} paths more</span>
        </div>
      )}
    </>
  );
}

const sizeOf = (side: { size: number | null }): string =>
  side.size === null ? "removed" : bytes(side.size);

/** The conflict as a change from ours to theirs, to be looked at. */
function changeOf({ path, ours, theirs }: PathConflict): Change {
  return {
    path,
    change: ours.size === null ? "added" : theirs.size === null ? "removed" : "modified",
    old_size: ours.size,
    new_size: theirs.size,
    old_hash: ours.hash,
    new_hash: theirs.hash,
  };
}

function Conflict({
  repo,
  report,
  heads,
  strategy,
  choices,
  onChoose,
  conflict,
}: Props & { conflict: PathConflict }) {
  const [open, setOpen] = useState(false);
  const { path } = conflict;
  const chosen = choices[path] ?? strategy;
  const [theirs, ours] = heads;
  return (
    <fieldset className={styles.conflict}>
      <legend>{path}</legend>
      <div className={styles.options}>
        {SIDES.map((side) => (
          <label key={side}>
            <input
              type="radio"
              name={`conflict ${path}`}
              checked={chosen === side}
              onChange={() => onChoose(path, side)}
            />
            {side === "ours" ? "Ours" : "Theirs"}
            <span className="dim">
              {branchOf(side === "ours" ? report.target : report.source)}, {sizeOf(conflict[side])}
            </span>
          </label>
        ))}
        <span className="dim">when they parted: {sizeOf(conflict.base)}</span>
        <span className="grow" />
        <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide both" : "Look at both"}
        </Button>
      </div>
      {open && ours && theirs && (
        <FileDiff pair={{ repo, old: ours, new: theirs }} change={changeOf(conflict)} />
      )}
    </fieldset>
  );
}
