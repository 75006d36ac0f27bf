import { useQueries } from "@tanstack/react-query";
import { pipelineQueries } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { CodeDiff, languageOf } from "~/ui/code/Code";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { changes, filesOf } from "../files";

/** Two versions of a pipeline, file by file. */
export function Compared({
  name,
  before,
  after,
}: {
  name: RepoName;
  before: number;
  after: number;
}) {
  const [old, now] = useQueries({
    queries: [pipelineQueries.text(name, before), pipelineQueries.text(name, after)],
  });
  const both = old.data && now.data ? changes(filesOf(old.data), filesOf(now.data)) : undefined;
  return (
    <Answer
      of={{ data: both, error: old.error ?? now.error, isPending: old.isPending || now.isPending }}
    >
      {(files) =>
        files.length === 0 ? (
          <Empty title={`v${before} and v${after} are alike`}>
            They have the same spec and the same code: one of them was made to compute again.
          </Empty>
        ) : (
          <div className="stack">
            {files.map((file) => (
              <Panel
                key={file.path}
                title={`${file.path.replace(/^\//, "")}, ${file.change} from v${before} to v${after}`}
              >
                <CodeDiff
                  old={file.old}
                  new={file.now}
                  language={languageOf(file.path)}
                  labels={[`${file.path} of version ${before}`, `${file.path} of version ${after}`]}
                />
              </Panel>
            ))}
          </div>
        )
      }
    </Answer>
  );
}
