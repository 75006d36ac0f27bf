import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download, Ellipsis, File, Folder, History, Link2, Trash2 } from "lucide-react";
import { type KeyboardEvent, useRef } from "react";
import { useNavigate } from "react-router";
import { contentUrl } from "~/api/client";
import { archiveUrl, fileQueries } from "~/api/files";
import type { FileInfo, RepoName } from "~/api/types";
import { bytes } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Link, useStay } from "~/ui/Link";
import { Menu } from "~/ui/Menu";
import { Answer, Empty } from "~/ui/Messages";
import { type More, MoreFailed, moreOf, useMoreNear } from "~/ui/More";
import { copyPermalink } from "../permalink";
import { nameOf, within } from "../where";
import styles from "./Files.module.css";

const LINE = 37;
const NEAR = 50;

interface Props {
  repo: RepoName;
  /** As the URL names it, so that links stay on a branch. */
  at: string | null;
  commit: string;
  path: string;
  /** Whether what the lake keeps beside the files is shown too. */
  hidden: boolean;
  onDelete?: (file: FileInfo) => void;
}

/** What is in a folder, however much: only what is seen is drawn, and pages come as one scrolls. */
export function FolderList(props: Props) {
  const { repo, commit, path, hidden } = props;
  const pages = useInfiniteQuery(fileQueries.folder(repo, commit, path, hidden));
  const files = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Answer of={pages}>
      {() =>
        files.length === 0 ? (
          <Empty title="Nothing here" icon={Folder}>
            This commit has no files.
          </Empty>
        ) : (
          <Lines {...props} files={files} more={moreOf(pages)} />
        )
      }
    </Answer>
  );
}

function Lines({ files, more, ...props }: Props & { files: FileInfo[]; more?: More }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useVirtualizer({
    count: files.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 10,
  });
  const seen = lines.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  useMoreNear(more, last, files.length, NEAR);
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const from = (event.target as HTMLElement).closest("[data-line]");
    if (!step || !from || !(event.target instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    const next = Number(from.getAttribute("data-line")) + step;
    box.current?.querySelector<HTMLElement>(`[data-line="${next}"] a`)?.focus();
  };
  return (
    <div role="table" aria-label="Files" aria-rowcount={files.length + 1} className={styles.files}>
      <div role="row" className={styles.head}>
        <span role="columnheader" className="grow">
          Name
        </span>
        <span role="columnheader">Size</span>
        <span role="columnheader" className={styles.menu}>
          <span className="sr-only">Actions</span>
        </span>
      </div>
      <div role="rowgroup" ref={box} className={styles.lines} onKeyDown={walk}>
        <div style={{ height: lines.getTotalSize(), position: "relative" }} role="presentation">
          {seen.map((line) => (
            <Line
              key={line.key}
              {...props}
              n={line.index}
              top={line.start}
              file={files[line.index]!}
            />
          ))}
        </div>
      </div>
      <MoreFailed more={more} />
    </div>
  );
}

function Line(props: Props & { n: number; top: number; file: FileInfo }) {
  const { repo, at, commit, file, n, top, onDelete } = props;
  const go = useNavigate();
  const stay = useStay();
  const folder = file.type === "folder";
  const Icon = folder ? Folder : File;
  const name = nameOf(file.path);
  const save = folder ? archiveUrl(repo, commit, file.path) : contentUrl(repo, commit, file.path);
  return (
    <div
      role="row"
      aria-rowindex={n + 2}
      data-line={n}
      className={styles.line}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell" className={styles.entry}>
        <Icon size={16} aria-hidden className={folder ? styles.folder : styles.file} />
        <Link to={within(repo, { at, path: file.path })} className="clip" title={name}>
          {name}
        </Link>
      </span>
      <span role="cell" className="num dim">
        {bytes(file.size)}
      </span>
      <span role="cell" className={styles.menu}>
        <Menu
          items={[
            {
              text: folder ? "Download as tar" : "Download",
              icon: Download,
              act: () => window.location.assign(save),
            },
            {
              text: "Copy permalink",
              icon: Link2,
              act: () => copyPermalink(repo, commit, file.path),
            },
            {
              text: "History",
              icon: History,
              act: () => void go(stay(within(repo, { tab: "history", at, path: file.path }))),
            },
            ...(onDelete
              ? [null, { text: "Delete…", icon: Trash2, danger: true, act: () => onDelete(file) }]
              : []),
          ]}
        >
          <Button small kind="ghost" icon={Ellipsis} label={`Actions for ${name}`} />
        </Menu>
      </span>
    </div>
  );
}
