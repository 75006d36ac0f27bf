import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { flowQueries, rewind } from "~/api/flows";
import type { Batch, RepoName } from "~/api/types";
import { ago, plural, shortId } from "~/lib/format";
import { shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { PipelineLink } from "~/ui/Link";
import { Answer, Empty } from "~/ui/Messages";
import { Facts } from "~/ui/Page";
import { say } from "~/ui/toast";
import { batchText, positionText, rewindable } from "./figures";

/** Back to one of its commits. What that undoes is shown before it can be done. */
export function RewindDialog({
  name,
  batches,
  to,
  onTo,
  onClose,
}: {
  name: RepoName;
  batches: Batch[];
  /** The commit; undefined while the dialog is closed. */
  to: string | undefined;
  onTo: (commit: string) => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState("");
  const choices = rewindable(batches);
  const plan = useQuery({
    ...flowQueries.rewind(name, to ?? ""),
    enabled: Boolean(to),
    staleTime: 0,
  });
  const close = () => {
    setTyped("");
    onClose();
  };
  return (
    <ActionDialog
      open={to !== undefined}
      onClose={close}
      title={`Rewind ${shown(name)}`}
      about="Output, positions and state go back together. What is undone stays readable by its ID."
      action="Rewind"
      danger
      ready={plan.data !== undefined && !plan.isError && typed === shown(name)}
      doing={async () => {
        const done = await rewind(name, to ?? "");
        say(`${shown(name)} goes on after batch ${done.batch} (epoch ${done.epoch}).`);
      }}
    >
      {choices.length === 0 ? (
        <Empty title="Nowhere to go back to">It has no batch before its newest.</Empty>
      ) : (
        <>
          <Field label="Back to">
            <Select
              value={to ?? ""}
              onChange={(event) => onTo(event.target.value)}
              options={choices.map((one) => ({
                value: one.commit,
                text: `Batch ${batchText(one)} (epoch ${one.epoch}), ${shortId(one.commit)}${one.at ? `, ${ago(one.at)}` : ""}`,
              }))}
            />
          </Field>
          <Answer of={plan}>
            {(found) => (
              <Facts
                facts={[
                  [
                    "Undoes",
                    `${plural(found.commits, "commit")} with ${plural(found.rows, "row")}${found.late ? `, ${found.late} of them late` : ""}`,
                  ],
                  ["Reads on from", positionText(found.position)],
                  [
                    "Told of it",
                    found.readers.length === 0
                      ? "nobody reads it"
                      : found.readers.map((one) => (
                          <span key={shown(one)} style={{ marginRight: "var(--s2)" }}>
                            <PipelineLink name={one} />
                          </span>
                        )),
                  ],
                ]}
              />
            )}
          </Answer>
          <Field label={`Type ${shown(name)} to confirm`}>
            <Input value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        </>
      )}
    </ActionDialog>
  );
}
