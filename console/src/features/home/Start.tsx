import { Boxes, Database, Upload } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Button, ButtonLink } from "~/ui/Button";
import styles from "./Home.module.css";

const NewRepoDialog = lazy(() => import("~/features/repo/NewRepoDialog"));

/** The first three steps in a lake that has nothing yet. */
export function Start() {
  const [making, setMaking] = useState(false);
  return (
    <>
      <p>This lake is empty. Three steps make it work for you:</p>
      <ol className={styles.steps}>
        <Step
          number={1}
          title="Make a repo"
          command="trunkline repo create orders"
          button={
            <Button kind="primary" icon={Database} onClick={() => setMaking(true)}>
              New repo
            </Button>
          }
        >
          It holds files and tables, with every version of them.
        </Step>
        <Step
          number={2}
          title="Put a file"
          command="trunkline put orders@main:/orders.csv orders.csv"
          button={
            <ButtonLink icon={Upload} to="/repos">
              Open a repo to upload
            </ButtonLink>
          }
        >
          Each change is a commit, and can be undone.
        </Step>
        <Step
          number={3}
          title="Apply a pipeline"
          command="trunkline pipeline apply clean.yaml"
          button={
            <ButtonLink icon={Boxes} to="/pipelines/new">
              New pipeline
            </ButtonLink>
          }
        >
          From then on its output follows its input.
        </Step>
      </ol>
      <p className="dim">
        To see a lake at work first: <code>trunkline demo</code>. Help on any command:{" "}
        <code>trunkline --help</code>.
      </p>
      {making && (
        <Suspense fallback={null}>
          <NewRepoDialog onClose={() => setMaking(false)} />
        </Suspense>
      )}
    </>
  );
}

function Step({
  number,
  title,
  command,
  button,
  children,
}: {
  number: number;
  title: string;
  command: string;
  button: ReactNode;
  children: ReactNode;
}) {
  return (
    <li className={styles.step}>
      <b aria-hidden>{number}</b>
      <h2>{title}</h2>
      <p>{children}</p>
      <pre>
        <code>{command}</code>
      </pre>
      {button}
    </li>
  );
}
