import { Page } from "~/ui/Page";
import { Tabs } from "~/ui/Tabs";
import { JobsGrid } from "./grid/JobsGrid";
import { JobsList } from "./list/JobsList";

export default function JobsPage() {
  return (
    <Page title="Jobs" about="Each is one pipeline working on one change." full>
      <Tabs
        label="Ways to look at jobs"
        full
        clears={["job", "streams", "id", "state", "pipeline"]}
        tabs={[
          { id: "list", title: "List", body: () => <JobsList /> },
          { id: "grid", title: "Grid", body: () => <JobsGrid /> },
        ]}
      />
    </Page>
  );
}
