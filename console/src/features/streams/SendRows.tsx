import { Copy } from "lucide-react";
import type { RepoName } from "~/api/types";
import { Button } from "~/ui/Button";
import { copy } from "~/ui/copy";
import { Panel } from "~/ui/Page";
import styles from "./Streams.module.css";

/** The command that sends rows to an ingest through this server. */
export function sendCommand({ project, repo }: RepoName, origin: string): string {
  const to = `${origin}/api/v1/ingests/${encodeURIComponent(project)}/${encodeURIComponent(repo)}/events`;
  return [
    "curl --data-binary @events.jsonl \\",
    '  -H "Authorization: Bearer $TRUNKLINE_TOKEN" \\',
    '  -H "Content-Type: application/x-ndjson" \\',
    '  -H "Idempotency-Key: $(uuidgen)" \\',
    `  '${to.replaceAll("'", "%27")}'`,
  ].join("\n");
}

export function SendRows({ name }: { name: RepoName }) {
  const command = sendCommand(name, window.location.origin);
  return (
    <Panel
      title="Send rows"
      padded
      actions={
        <Button small icon={Copy} onClick={() => void copy(command, "Copied the command.")}>
          Copy
        </Button>
      }
    >
      <p>
        One JSON object on each line. The answer comes when the rows are committed; with the same
        key they count once, however often they are sent.
      </p>
      <pre className={styles.command}>
        <code>{command}</code>
      </pre>
    </Panel>
  );
}
