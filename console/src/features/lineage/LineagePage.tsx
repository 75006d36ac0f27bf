import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Columns3, Search } from "lucide-react";
import { lazy, Suspense, useMemo } from "react";
import { FOLLOWED, type Lineage, lineageQueries, MOST_FOLLOWED } from "~/api/lineage";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Select } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { Answer, Failure, Loading } from "~/ui/Messages";
import { Facts, Page, Panel } from "~/ui/Page";
import { Steer, type Steering } from "./Card";
import { drawColumns, tellColumns } from "./columns";
import type { Direction, Drawn, Told } from "./drawn";
import styles from "./Lineage.module.css";
import { drawPlaces, tellPlaces, waysOf } from "./places";
import { Start } from "./Start";
import { Tree } from "./Tree";
import { Against, type Root, VersionPicker } from "./Versions";

const LineageCanvas = lazy(() => import("./LineageCanvas"));

const DIRECTIONS = [
  { value: "both", text: "Both ways" },
  { value: "up", text: "What it was made from" },
  { value: "down", text: "What was made from it" },
];

const WAYS = { open: "Files", code: "Code", job: "Job" };

export default function LineagePage() {
  const [params] = useQueryState();
  const ref = params.get("ref");
  if (!ref)
    return (
      <Page title="Lineage" about="What something was made from, and what was made from it.">
        <Start />
      </Page>
    );
  return <Explorer at={ref} />;
}

function useAsked() {
  const [params, set] = useQueryState();
  const column = params.get("column") ?? "";
  const direction = (DIRECTIONS.find((one) => one.value === params.get("direction"))?.value ??
    "both") as Direction;
  const limit = Math.min(MOST_FOLLOWED, Number(params.get("limit")) || FOLLOWED);
  const columns = column !== "" || params.get("view") === "columns";
  const steering: Steering = {
    go: (goal) =>
      set({ ref: goal.ref, column: goal.column ?? null, against: null }, { push: true }),
    more: () => set({ limit: String(Math.min(MOST_FOLLOWED, limit * 5)) }, { push: true }),
  };
  return { set, column, columns, direction, limit, steering };
}

function Explorer({ at }: { at: string }) {
  const { set, column, columns, direction, limit, steering } = useAsked();
  const places = useQuery({ ...lineageQueries.of(at, limit), placeholderData: keepPreviousData });
  const root = places.data && rootOf(places.data);
  const name = root ? shown(root.repo) : at;
  return (
    <Page
      full
      title={`Lineage of ${column || name}`}
      crumbs={[{ to: "/lineage", text: "Lineage" }]}
      about={places.data?.root.text}
      actions={
        <>
          {root && <VersionPicker root={root} column={column} />}
          <Select
            aria-label="Direction"
            value={direction}
            onChange={(event) => set({ direction: event.target.value }, { push: true })}
            options={DIRECTIONS}
          />
          <Button
            icon={Columns3}
            kind={columns ? "primary" : "default"}
            aria-pressed={columns}
            onClick={() => set({ view: columns ? null : "columns", column: null }, { push: true })}
          >
            Columns
          </Button>
          <Button
            icon={Search}
            onClick={() =>
              set(
                { ref: null, column: null, view: null, against: null, limit: null },
                { push: true },
              )
            }
          >
            Begin elsewhere
          </Button>
        </>
      }
    >
      {places.error ? (
        <Failure error={places.error} retry={() => void places.refetch()} />
      ) : (
        <Answer of={places}>
          {(lineage) =>
            columns ? (
              <Columns at={at} column={column} direction={direction} steering={steering} />
            ) : (
              <Places lineage={lineage} direction={direction} limit={limit} steering={steering} />
            )
          }
        </Answer>
      )}
    </Page>
  );
}

function rootOf({ root: { repo, commit, path } }: Lineage): Root | undefined {
  return repo && commit ? { repo, commit, path: path ?? null } : undefined;
}

function Places(props: {
  lineage: Lineage;
  direction: Direction;
  limit: number;
  steering: Steering;
}) {
  const { lineage, direction, limit, steering } = props;
  const drawn = useMemo(() => drawPlaces(lineage, direction), [lineage, direction]);
  const told = useMemo(() => tellPlaces(lineage), [lineage]);
  const root = rootOf(lineage);
  return (
    <Screen drawn={drawn} told={told} direction={direction} steering={steering}>
      <Panel title={<span style={{ overflowWrap: "anywhere" }}>{lineage.root.text}</span>} padded>
        <Facts
          facts={[
            ["What", lineage.root.kind],
            ["It is", lineage.root.detail],
            ...waysOf(lineage.root).map(({ to, text, kind }): [string, React.ReactNode] => [
              WAYS[kind],
              <Link key={to} to={to}>
                {text}
              </Link>,
            ]),
          ]}
        />
      </Panel>
      {root && <Against root={root} limit={limit} />}
    </Screen>
  );
}

function Columns(props: { at: string; column: string; direction: Direction; steering: Steering }) {
  const { at, column, direction, steering } = props;
  const found = useQuery(lineageQueries.columns(at, column || undefined));
  const drawn = useMemo(
    () => found.data && drawColumns(found.data, direction, column || undefined),
    [found.data, direction, column],
  );
  const told = useMemo(() => found.data && tellColumns(found.data), [found.data]);
  return (
    <Answer of={found}>
      {({ columns, down }) =>
        drawn &&
        told && (
          <Screen drawn={drawn} told={told} direction={direction} steering={steering}>
            {column && (
              <Panel title={`Column ${column}`} padded>
                <p>
                  {[columns[0]?.pipeline && `Made by ${columns[0].pipeline}.`, columns[0]?.note]
                    .filter(Boolean)
                    .join(" ") || "It is part of a source."}
                </p>
                {down?.[0]?.note && <p className="dim">{down[0].note}</p>}
              </Panel>
            )}
          </Screen>
        )
      }
    </Answer>
  );
}

/** The graph, and beside it what is known of the root and the same lineage in words. */
function Screen(props: {
  drawn: Drawn;
  told: Told;
  direction: Direction;
  steering: Steering;
  children: React.ReactNode;
}) {
  const { drawn, told, direction, steering, children } = props;
  return (
    <Steer value={steering}>
      <div className={styles.page}>
        <Suspense fallback={<Loading what="Loading the graph" />}>
          <LineageCanvas drawn={drawn} steering={steering} />
        </Suspense>
        <aside className={styles.side} aria-label="Lineage in words">
          {children}
          <Panel title="In words" padded>
            <div className="stack">
              {direction !== "down" && (
                <Words title="Made from" none="Nothing: it is a source." branches={told.up} />
              )}
              {direction !== "up" && (
                <Words
                  title="Made into"
                  none="Nothing was made from it yet."
                  branches={told.down}
                />
              )}
            </div>
          </Panel>
        </aside>
      </div>
    </Steer>
  );
}

function Words({ title, none, branches }: { title: string; none: string; branches: Told["up"] }) {
  return (
    <div>
      <h3>{title}</h3>
      {branches.length === 0 ? (
        <p className="dim">{none}</p>
      ) : (
        <Tree label={title} branches={branches} />
      )}
    </div>
  );
}
