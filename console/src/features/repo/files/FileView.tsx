import { useQuery } from "@tanstack/react-query";
import { Download, History, Link2, Trash2 } from "lucide-react";
import { contentUrl } from "~/api/client";
import { commitQueries } from "~/api/commits";
import type { FileInfo, RepoName } from "~/api/types";
import { bytes, count, shortId } from "~/lib/format";
import { useParam } from "~/lib/url";
import { Button, ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { copyPermalink } from "../permalink";
import { nameOf, within } from "../where";
import styles from "./Files.module.css";
import { hasText, kindOf } from "./preview/kind";
import { Preview } from "./preview/Preview";

interface Props {
  repo: RepoName;
  at: string;
  commit: string;
  file: FileInfo;
  onDelete?: () => void;
}

/** One file: what is in it, what is known of it, and what can be done with it. */
export function FileView({ repo, at, commit, file, onDelete }: Props) {
  const [view, setView] = useParam("view");
  const kind = kindOf(file.path);
  const both = (kind === "rows" && hasText(file.path)) || kind === "json" || kind === "notebook";
  const raw = both && view === "raw";
  return (
    <Panel
      title={<span className={styles.name}>{nameOf(file.path)}</span>}
      actions={
        <div className="row wrap">
          {both && (
            <Button small aria-pressed={raw} onClick={() => setView(raw ? "" : "raw")}>
              {raw ? (kind === "rows" ? "Show rows" : "Show formatted") : "Show raw text"}
            </Button>
          )}
          <ButtonLink
            small
            icon={History}
            to={within(repo, { tab: "history", at, path: file.path })}
          >
            History
          </ButtonLink>
          <Button small icon={Link2} onClick={() => copyPermalink(repo, commit, file.path)}>
            Copy permalink
          </Button>
          <a className={styles.save} href={contentUrl(repo, commit, file.path)} download>
            <Download size={14} aria-hidden />
            Download
          </a>
          {onDelete && (
            <Button small kind="danger" icon={Trash2} onClick={onDelete}>
              Delete
            </Button>
          )}
        </div>
      }
    >
      <Known repo={repo} commit={commit} at={at} file={file} />
      <Preview repo={repo} commit={commit} file={file} raw={raw} />
    </Panel>
  );
}

function Known({ repo, commit, at, file }: Omit<Props, "onDelete">) {
  const found = useQuery(commitQueries.one(repo, commit));
  return (
    <p className={styles.known}>
      <span title={`${count(file.size)} bytes`}>{bytes(file.size)}</span>
      {file.hash && (
        <span title={file.hash}>
          hash <code>{shortId(file.hash)}</code>
        </span>
      )}
      <span>
        as of{" "}
        <Link to={within(repo, { tab: "history", at, commit })}>
          <code>{shortId(commit)}</code>
        </Link>
        {found.data && (
          <>
            , <Time at={found.data.finished ?? found.data.started} />
          </>
        )}
      </span>
    </p>
  );
}
