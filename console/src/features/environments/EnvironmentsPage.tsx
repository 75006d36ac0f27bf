import { useQuery } from "@tanstack/react-query";
import { FlaskConical, Plus } from "lucide-react";
import { useState } from "react";
import { type Environment, environmentQueries } from "~/api/environments";
import { DEFAULT_PROJECT, paths } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Page, Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { NewEnvironmentDialog } from "./NewEnvironmentDialog";

const COLUMNS: Column<Environment>[] = [
  {
    id: "name",
    title: "Environment",
    cell: (one) => <Link to={paths.environment(one.project, one.name)}>{one.name}</Link>,
    sort: (one) => one.name,
    wide: true,
  },
  { id: "project", title: "Project", cell: (one) => one.project, sort: (one) => one.project },
  { id: "base", title: "From", cell: (one) => one.base },
  { id: "author", title: "Made by", cell: (one) => one.author, sort: (one) => one.author },
  {
    id: "created",
    title: "Made",
    cell: (one) => <Time at={one.created} />,
    sort: (one) => one.created,
    right: true,
  },
];

/** Where a project has other projects beside it, each says which it is of. */
const columnsFor = (all: Environment[]) =>
  all.some((one) => one.project !== DEFAULT_PROJECT)
    ? COLUMNS
    : COLUMNS.filter((column) => column.id !== "project");

export default function EnvironmentsPage() {
  const environments = useQuery(environmentQueries.list());
  const [making, setMaking] = useState(false);
  return (
    <Page
      title="Environments"
      about="All repos and pipelines of a project on branches of their own: to try code on real data."
      actions={
        <Button kind="primary" icon={Plus} onClick={() => setMaking(true)}>
          New environment
        </Button>
      }
    >
      <Panel>
        <Answer of={environments}>
          {(all) => (
            <List
              label="Environments"
              items={all}
              columns={columnsFor(all)}
              keyOf={(one) => `${one.project}/${one.name}`}
              empty={
                <Empty
                  title="No environments"
                  icon={FlaskConical}
                  command={
                    "trunkline env create dev\ntrunkline pipeline apply clean.yaml --env dev"
                  }
                >
                  No data is copied. What was computed there is not computed again when it is
                  merged.
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
      {making && <NewEnvironmentDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}
