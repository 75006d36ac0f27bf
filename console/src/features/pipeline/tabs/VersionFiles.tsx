import { useQuery } from "@tanstack/react-query";
import { pipelineQueries } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { shown } from "~/lib/names";
import { Code, languageOf } from "~/ui/code/Code";
import { Answer, Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Tabs } from "~/ui/Tabs";
import { filesOf } from "../files";

/** The spec and the files of a version, each in a tab. */
export function VersionFiles({ name, version }: { name: RepoName; version: number }) {
  const text = useQuery(pipelineQueries.text(name, version));
  return (
    <Answer of={text}>
      {(found) => (
        <Tabs
          name="file"
          label="Files of the version"
          tabs={filesOf(found).map((file) => ({
            id: file.path,
            title: file.path.replace(/^\//, ""),
            body: () => (
              <Panel>
                {file.text === null ? (
                  <Note>This file is no text.</Note>
                ) : (
                  <Code
                    key={`${version} ${file.path}`}
                    label={`${file.path} of ${shown(name)}, version ${version}`}
                    text={file.text}
                    language={languageOf(file.path)}
                  />
                )}
              </Panel>
            ),
          }))}
        />
      )}
    </Answer>
  );
}
