import { useQuery } from "@tanstack/react-query";
import { ListTree, Route } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { key } from "~/api/keys";
import { datumsOf, planOf, readSpec } from "~/api/pipelines";
import type { Schema } from "~/api/types";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Select } from "~/ui/Field";
import { Answer } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Datums } from "./Datums";
import styles from "./Editor.module.css";
import { Files } from "./Files";
import { Planned } from "./Planned";
import { type Start, useDraft } from "./useDraft";
import { useLeaving } from "./useLeaving";
import { Verdict } from "./Verdict";

export type Mode = "changed" | "reprocess" | "no_reprocess";

const MODES = [
  { value: "changed", text: "Compute again what changed" },
  { value: "reprocess", text: "Compute everything again" },
  { value: "no_reprocess", text: "Keep all results, as if nothing changed" },
];

interface Asked {
  what: "datums" | "plan";
  of: Start;
  mode: Mode;
  time: number;
}

interface Props {
  start: Start;
  project: string;
  onApplied?: (report: Schema<"ApplyReport">) => void;
  /** Told when what stands in the editor is, or is no longer, as it was at the start. */
  onDirty?: (dirty: boolean) => void;
}

/** Writes a spec and its code; shows what it would do; and only then applies it. */
export function PipelineEditor({ start, project, onApplied, onDirty }: Props) {
  const draft = useDraft(start, project);
  const [mode, setMode] = useState<Mode>("changed");
  const [shown, setShown] = useState<Asked | null>(null);
  const [done, setDone] = useState<Schema<"ApplyReport"> | null>(null);
  const blocker = useLeaving(draft.dirty);
  useEffect(() => onDirty?.(draft.dirty), [draft.dirty, onDirty]);
  useEffect(() => {
    // Only now does nothing keep one from leaving.
    if (done && !draft.dirty) onApplied?.(done);
  }, [done, draft.dirty, onApplied]);
  const asked = useQuery({
    queryKey: key("fixed", null, "asked", shown),
    enabled: shown !== null,
    retry: false,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const { what, of, mode: asked } = shown!;
      const body = {
        ...(await readSpec(of.text, of.files, project)),
        reprocess: asked === "reprocess",
        no_reprocess: asked === "no_reprocess",
      };
      return what === "datums"
        ? { body, datums: await datumsOf(body) }
        : { body, report: await planOf(body) };
    },
  });
  // Each time anew: the lake may have changed since.
  const ask = (what: "datums" | "plan") =>
    setShown({ what, of: draft.draft, mode, time: Date.now() });
  const below = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer anew is brought into view
  useEffect(() => {
    void below.current?.scrollIntoView?.({ block: "nearest" });
  }, [asked.dataUpdatedAt]);
  const stale = shown !== null && (shown.of !== draft.draft || shown.mode !== mode);
  return (
    <div className={styles.editor}>
      <Files draft={draft} project={project} />
      <Verdict draft={draft} />
      <div className={styles.doing}>
        <Button icon={ListTree} onClick={() => ask("datums")}>
          Preview datums
        </Button>
        <Button kind="primary" icon={Route} onClick={() => ask("plan")}>
          Plan
        </Button>
        <Field label="When applied">
          <Select
            value={mode}
            onChange={(event) => setMode(event.target.value as Mode)}
            options={MODES}
          />
        </Field>
        <p className="dim">Nothing is applied before you have seen its plan.</p>
      </div>
      {shown && (
        <div ref={below}>
          <Panel title={shown.what === "datums" ? "Datums" : "Plan"} padded>
            <Answer of={asked}>
              {(found) =>
                found.report ? (
                  <Planned
                    report={found.report}
                    body={found.body}
                    stale={stale}
                    onApplied={(report) => {
                      draft.keep();
                      setShown(null);
                      setDone(report);
                    }}
                  />
                ) : (
                  <Datums found={found.datums!} stale={stale} />
                )
              }
            </Answer>
          </Panel>
        </div>
      )}
      <ActionDialog
        open={blocker.state === "blocked"}
        onClose={() => blocker.reset?.()}
        title="Leave without applying?"
        about="What you have written here is not kept."
        action="Leave"
        danger
        doing={async () => blocker.proceed?.()}
      />
    </div>
  );
}
