import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { pipelineQueries } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { Answer } from "~/ui/Messages";
import { PipelineEditor } from "../editor/PipelineEditor";

/** The newest version of a pipeline, to be changed. */
export default function EditTab({ name }: { name: RepoName }) {
  const text = useQuery(pipelineQueries.text(name));
  return (
    <Answer of={text}>
      {(found) => <Started key={`${name.project}/${name.repo}`} name={name} found={found} />}
    </Answer>
  );
}

/** What was there when the editor was opened: what others apply meanwhile does not overwrite it. */
function Started({
  name,
  found,
}: {
  name: RepoName;
  found: React.ComponentProps<typeof PipelineEditor>["start"];
}) {
  const [start] = useState(found);
  return <PipelineEditor start={start} project={name.project} />;
}
