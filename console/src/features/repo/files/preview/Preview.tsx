import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { contentUrl } from "~/api/client";
import { fileQueries } from "~/api/files";
import type { FileInfo, RepoName } from "~/api/types";
import { RowsGrid } from "~/features/table/RowsGrid";
import { bytes, count } from "~/lib/format";
import { Code, languageOf } from "~/ui/code/Code";
import { Answer, Empty, Note } from "~/ui/Messages";
import { nameOf } from "../../where";
import { hexLines, isSvg, type Kind, kindOf, prettyJson, textOf } from "./kind";
import { Notebook } from "./Notebook";
import { cellsOf } from "./notebook";
import styles from "./Preview.module.css";

export interface PreviewProps {
  repo: RepoName;
  commit: string;
  file: FileInfo;
}

const SHOWN = 512_000;
const SNIFFED = 4096;
const HEX = 512;
/** Larger drawings are shown as their text. */
const LARGEST_DRAWING = 5_000_000;

/** What is in a file, as it is best looked at. `raw` shows its text instead. */
export function Preview({ raw, ...file }: PreviewProps & { raw: boolean }) {
  const kind: Kind = raw ? "text" : kindOf(file.file.path);
  if (file.file.size === 0) return <Empty title="This file is empty" />;
  if (kind === "rows") {
    return (
      <RowsGrid
        place={{ name: file.repo, path: file.file.path }}
        commit={file.commit}
        label={`Rows of ${nameOf(file.file.path)}`}
        height="max(320px, calc(100vh - 380px))"
      />
    );
  }
  if (kind === "image" && !isSvg(file.file.path)) return <Picture {...file} />;
  if (kind === "image" && file.file.size <= LARGEST_DRAWING) return <Drawing {...file} />;
  if (kind === "audio" || kind === "video") return <Media {...file} kind={kind} />;
  if (kind === "unknown") return <Sniffed {...file} />;
  return <Text {...file} kind={raw ? "text" : kind} />;
}

/** Text if its beginning reads like text; bytes otherwise. */
function Sniffed(file: PreviewProps) {
  const start = useQuery(fileQueries.bytes(file.repo, file.commit, file.file.path, SNIFFED));
  return (
    <Answer of={start}>
      {(found) =>
        textOf(found) === null ? <Hex {...file} bytes={found} /> : <Text {...file} kind="text" />
      }
    </Answer>
  );
}

function Text({ repo, commit, file, kind }: PreviewProps & { kind: Kind }) {
  const found = useQuery(fileQueries.bytes(repo, commit, file.path, SHOWN));
  const cut = file.size > SHOWN;
  return (
    <Answer of={found}>
      {(all) => {
        const text = textOf(all);
        if (text === null) return <Hex repo={repo} commit={commit} file={file} bytes={all} />;
        const cells = kind === "notebook" && !cut ? cellsOf(text) : null;
        if (cells) return <Notebook cells={cells} />;
        const pretty = kind === "json" && !cut ? prettyJson(text) : null;
        return (
          <>
            {cut && (
              <div className={styles.note}>
                <Note>
                  The first {bytes(SHOWN)} of {bytes(file.size)}. Download the file to see all of
                  it.
                </Note>
              </div>
            )}
            <Code
              label={`Text of ${nameOf(file.path)}`}
              text={pretty ?? text}
              language={languageOf(file.path)}
            />
          </>
        );
      }}
    </Answer>
  );
}

function Hex({ file, bytes: found }: PreviewProps & { bytes: Uint8Array }) {
  return (
    <div>
      <p className={`dim ${styles.line}`}>
        Not text: the first {count(Math.min(HEX, file.size))} of {count(file.size)} bytes.
      </p>
      <section className={styles.hex} aria-label={`Bytes of ${nameOf(file.path)}`} tabIndex={0}>
        <pre>{hexLines(found.subarray(0, HEX)).join("\n")}</pre>
      </section>
    </div>
  );
}

function Picture({ repo, commit, file }: PreviewProps) {
  return (
    <div className={styles.media}>
      <img src={contentUrl(repo, commit, file.path)} alt={nameOf(file.path)} />
    </div>
  );
}

/** An SVG is shown as a picture only: nothing in it runs. */
function Drawing({ repo, commit, file }: PreviewProps) {
  const found = useQuery(fileQueries.bytes(repo, commit, file.path, file.size));
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!found.data) return;
    const made = URL.createObjectURL(
      new Blob([found.data as Uint8Array<ArrayBuffer>], { type: "image/svg+xml" }),
    );
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [found.data]);
  return (
    <Answer of={found}>
      {() => <div className={styles.media}>{url && <img src={url} alt={nameOf(file.path)} />}</div>}
    </Answer>
  );
}

function Media({ repo, commit, file, kind }: PreviewProps & { kind: "audio" | "video" }) {
  const [failed, setFailed] = useState(false);
  const shared = {
    src: contentUrl(repo, commit, file.path),
    controls: true,
    preload: "metadata",
    "aria-label": nameOf(file.path),
    onError: () => setFailed(true),
  };
  return (
    <div className={styles.media}>
      {failed && <Note>This browser cannot play the file. Download it to play it elsewhere.</Note>}
      {!failed && (kind === "audio" ? <audio {...shared} /> : <video {...shared} />)}
    </div>
  );
}
