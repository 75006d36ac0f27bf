import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { codeRepo, pipelineQueries, restorePipeline } from "~/api/pipelines";
import { repoQueries } from "~/api/repos";
import type { PipelineInfo } from "~/api/types";
import { briefly } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button, ButtonLink } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Select } from "~/ui/Field";
import { Answer } from "~/ui/Messages";
import { say } from "~/ui/toast";
import { Compared } from "./Compared";
import { VersionFiles } from "./VersionFiles";

/** Spec and code of any version; two of them compared. `then` is the version of the moment. */
export function CodeTab({ pipeline, then }: { pipeline: PipelineInfo; then: number | undefined }) {
  const { name } = pipeline;
  const [params, set] = useQueryState();
  const [restoring, setRestoring] = useState(false);
  const versions = useQuery(pipelineQueries.versions(name));
  const tags = useQuery(repoQueries.tags(codeRepo(name)));
  const version = Number(params.get("v")) || then || pipeline.version;
  const other = Number(params.get("vs")) || null;
  const byWhom = (number: number) => tags.data?.find((tag) => tag.name === `v${number}`)?.author;
  const told = (info: PipelineInfo) =>
    [`v${info.version}`, briefly(info.updated), byWhom(info.version)].filter(Boolean).join(" · ");
  return (
    <Answer of={versions}>
      {(all) => (
        <div className="stack">
          <div className="row wrap">
            <label className="row">
              Version
              <Select
                value={String(version)}
                onChange={(event) => set({ v: event.target.value }, { push: true })}
                options={all.map((one) => ({ value: String(one.version), text: told(one) }))}
              />
            </label>
            {all.length > 1 && (
              <label className="row">
                compared with
                <Select
                  value={other === null ? "" : String(other)}
                  onChange={(event) => set({ vs: event.target.value }, { push: true })}
                  options={[
                    { value: "", text: "no other" },
                    ...all
                      .filter((one) => one.version !== version)
                      .map((one) => ({ value: String(one.version), text: told(one) })),
                  ]}
                />
              </label>
            )}
            <span className="grow" />
            <ButtonLink
              small
              to={`${paths.repo(codeRepo(name))}?${new URLSearchParams({ at: `v${version}` })}`}
            >
              Files in {codeRepo(name).repo}
            </ButtonLink>
            {version !== pipeline.version && (
              <Button small icon={RotateCcw} onClick={() => setRestoring(true)}>
                Restore v{version}
              </Button>
            )}
          </div>
          {other !== null && other !== version ? (
            <Compared name={name} before={other} after={version} />
          ) : (
            <VersionFiles name={name} version={version} />
          )}
          <ActionDialog
            open={restoring}
            onClose={() => setRestoring(false)}
            title={`Restore v${version} of ${shown(name)}?`}
            about={`The spec and code of v${version} become the newest version, v${pipeline.version + 1}. Results that it has computed are used again.`}
            action="Restore"
            doing={async () => {
              const done = await restorePipeline(name, version);
              say(`${shown(name)} is at v${done.version}, which is v${version} again.`);
              set({ v: null, vs: null });
            }}
          />
        </div>
      )}
    </Answer>
  );
}
