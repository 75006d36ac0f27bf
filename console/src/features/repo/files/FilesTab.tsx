import { useQuery } from "@tanstack/react-query";
import { Download, FolderOpen, Link2, Table2 } from "lucide-react";
import { type DragEvent, lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { commitQueries } from "~/api/commits";
import { archiveUrl, fileQueries } from "~/api/files";
import type { FileInfo, RepoName } from "~/api/types";
import { shortId } from "~/lib/format";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer, Empty, Failure, Loading } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { say } from "~/ui/toast";
import { copyPermalink } from "../permalink";
import { AtPicker } from "../RefPicker";
import { tableUrl } from "../TablesTab";
import { type Chosen, dropped } from "../upload/dropped";
import { useWhere, within } from "../where";
import { Crumbs } from "./Crumbs";
import styles from "./Files.module.css";
import { FileView } from "./FileView";
import { FolderList } from "./FolderList";
import { UploadButton } from "./UploadButton";

const UploadDialog = lazy(() => import("../upload/UploadDialog"));
const DeleteDialog = lazy(() => import("./DeleteDialog"));

/** The files of a repo at any commit; on a branch they can be added and removed. */
export function FilesTab({ repo, kind }: { repo: RepoName; kind: string | undefined }) {
  const [params, set] = useQueryState();
  const path = params.get("path") || "/";
  const hidden = params.has("hidden");
  const { at, commit, branch, error, retry } = useWhere(repo);
  const [chosen, setChosen] = useState<Chosen[] | null>(null);
  const [deleting, setDeleting] = useState<FileInfo | null>(null);
  const stat = useQuery({
    ...fileQueries.stat(repo, commit ?? "", path),
    enabled: Boolean(commit) && path !== "/",
  });
  const isFile = path !== "/" && stat.data?.type === "file";
  const writes = kind === "user" ? branch : undefined;
  const folder = isFile ? path.slice(0, path.lastIndexOf("/")) || "/" : path;
  const asked = params.get("at");
  let body: ReactNode;
  if (error) body = <Failure error={error} retry={retry} />;
  else if (commit === undefined) body = <Loading />;
  else if (commit === null) body = <Nothing repo={repo} writable={Boolean(writes)} />;
  else if (path === "/" || stat.data?.type === "folder") {
    body = (
      <>
        <TableBanner repo={repo} at={at ?? commit} commit={commit} path={path} />
        <Panel>
          <LastCommit repo={repo} commit={commit} at={asked} />
          <FolderList
            repo={repo}
            at={asked}
            commit={commit}
            path={path}
            hidden={hidden}
            onDelete={writes ? setDeleting : undefined}
          />
        </Panel>
        <Button small kind="ghost" onClick={() => set({ hidden: hidden ? null : "1" })}>
          {hidden ? "Leave out hidden files" : "Show hidden files"}
        </Button>
      </>
    );
  } else {
    body = (
      <Answer of={stat}>
        {(file) => (
          <FileView
            key={path}
            repo={repo}
            at={at ?? commit}
            commit={commit}
            file={file}
            onDelete={writes ? () => setDeleting(file) : undefined}
          />
        )}
      </Answer>
    );
  }
  return (
    <DropZone onDrop={writes ? setChosen : undefined}>
      <div className={styles.bar}>
        <AtPicker repo={repo} />
        <Crumbs repo={repo} path={path} at={asked} />
        {commit && !isFile && (
          <>
            <Button
              icon={Link2}
              label="Copy permalink"
              onClick={() => copyPermalink(repo, commit, path)}
            />
            <a className={styles.save} href={archiveUrl(repo, commit, path)} download>
              <Download size={14} aria-hidden />
              Download tar
            </a>
          </>
        )}
        {writes && !isFile && <UploadButton onChosen={setChosen} />}
      </div>
      {body}
      <Suspense fallback={null}>
        {chosen && writes && (
          <UploadDialog
            repo={repo}
            branch={writes}
            folder={folder}
            chosen={chosen}
            onClose={() => setChosen(null)}
          />
        )}
        {deleting && writes && (
          <DeleteDialog
            repo={repo}
            branch={writes}
            file={deleting}
            onDeleted={() => {
              if (deleting.path === path) set({ path: folder, view: null });
            }}
            onClose={() => setDeleting(null)}
          />
        )}
      </Suspense>
    </DropZone>
  );
}

function DropZone(props: { onDrop?: (files: Chosen[]) => void; children: ReactNode }) {
  const [over, setOver] = useState(false);
  const { onDrop } = props;
  useEffect(() => {
    // Else a browser leaves the console to show a file that was dropped beside the zone.
    const stay = (event: globalThis.DragEvent) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    window.addEventListener("dragover", stay);
    window.addEventListener("drop", stay);
    return () => {
      window.removeEventListener("dragover", stay);
      window.removeEventListener("drop", stay);
    };
  }, []);
  const hover = (event: DragEvent) => {
    if (!onDrop || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const leave = (event: DragEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
  };
  const take = (event: DragEvent) => {
    setOver(false);
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (!onDrop) return say("Files go to a branch of a source repo: this is none.");
    void dropped(event.dataTransfer).then((files) => files.length > 0 && onDrop(files));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the upload button does the same
    <div
      className={`stack ${styles.zone} ${over ? styles.over : ""}`}
      onDragEnter={hover}
      onDragOver={hover}
      onDragLeave={leave}
      onDrop={take}
    >
      {props.children}
    </div>
  );
}

function Nothing({ repo, writable }: { repo: RepoName; writable: boolean }) {
  return (
    <Panel>
      {writable ? (
        <Empty
          title="No files yet"
          icon={FolderOpen}
          command={`trunkline put ${shown(repo)}@main orders.csv`}
        >
          Drop files or folders here, or upload them from a terminal.
        </Empty>
      ) : (
        <Empty title="No files here" icon={FolderOpen}>
          There was no commit yet.
        </Empty>
      )}
    </Panel>
  );
}

function LastCommit({ repo, commit, at }: { repo: RepoName; commit: string; at: string | null }) {
  const found = useQuery(commitQueries.one(repo, commit));
  const known = found.data;
  return (
    <div className={styles.last}>
      <span className="grow clip" title={known?.message}>
        {known?.message ?? "…"}
      </span>
      {known && <span className="dim clip">{known.author}</span>}
      <Link
        to={within(repo, { tab: "history", at, commit })}
        aria-label={`Commit ${shortId(commit)}`}
      >
        <code>{shortId(commit)}</code>
      </Link>
      {known && (
        <span className="dim">
          <Time at={known.finished ?? known.started} />
        </span>
      )}
    </div>
  );
}

function TableBanner(props: { repo: RepoName; at: string; commit: string; path: string }) {
  const { repo, at, commit, path } = props;
  const tables = useQuery(fileQueries.tables(repo, commit, path));
  const table = tables.data?.find((one) => one.path === path);
  if (!table || table.error) return null;
  const columns = table.columns.map((one) => one.name).join(", ");
  return (
    <div className={styles.banner}>
      <Table2 size={16} aria-hidden color="var(--accent)" style={{ flex: "none" }} />
      <span className="grow clip">This folder is a table{columns && `: ${columns}`}</span>
      <Link to={tableUrl(repo, at, path)}>Open the table</Link>
    </div>
  );
}
