import { useQuery } from "@tanstack/react-query";
import { Waves } from "lucide-react";
import { useParams } from "react-router";
import { overviewQueries } from "~/api/overview";
import { same, shown } from "~/lib/names";
import { PipelineLink } from "~/ui/Link";
import { Empty, Failure, Loading } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { IngestView } from "./IngestView";
import { StreamView } from "./StreamView";

export default function StreamPage() {
  const { project = "", repo = "" } = useParams();
  const name = { project, repo };
  const overview = useQuery(overviewQueries.at(undefined));
  const kind = overview.data?.nodes.find((one) => same(one.name, name))?.kind;
  if (kind === "stream") return <StreamView name={name} />;
  if (kind === "ingest") return <IngestView name={name} />;
  return (
    <Page title={shown(name)} crumbs={[{ to: "/streams", text: "Streams" }]}>
      {overview.error ? (
        <Failure error={overview.error} retry={() => void overview.refetch()} />
      ) : overview.isPending ? (
        <Loading />
      ) : kind === undefined ? (
        <Empty title={`There is no ${shown(name)}`} icon={Waves}>
          It may have been deleted, or you may not read it.
        </Empty>
      ) : (
        <Empty title={`${shown(name)} is not a stream`} icon={Waves}>
          {kind === "pipeline" ? (
            <PipelineLink name={name}>It is a pipeline.</PipelineLink>
          ) : (
            `It is a ${kind}.`
          )}
        </Empty>
      )}
    </Page>
  );
}
