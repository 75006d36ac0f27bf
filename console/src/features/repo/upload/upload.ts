/** Many files on their way into one commit: what has become of each, and what is left to do. */
import { begin, commitUpload, drop } from "~/api/files";
import type { Commit, RepoName } from "~/api/types";
import { deliver } from "./transfer";

export interface Item {
  path: string;
  file: File;
  state: "waiting" | "sending" | "done" | "failed";
  sent: number;
  receipt: string;
  error: unknown;
}

/** `stuck`: some files failed and wait to be sent again or left out. */
export type Phase = "ready" | "sending" | "stuck" | "committing" | "failed" | "done" | "cancelled";

const AT_A_TIME = 3;
// The server forgets a transaction that is silent for ten minutes.
const STAY = 120_000;

export class Upload {
  items: Item[];
  phase: Phase = "ready";
  error: unknown = null;
  commit: Commit | null = null;
  private message = "";
  private txn: string | undefined;
  private working = 0;
  private stop = new AbortController();
  private staying: ReturnType<typeof setInterval> | undefined;
  private listeners = new Set<() => void>();
  private version = 0;

  constructor(
    readonly repo: RepoName,
    readonly branch: string,
    files: { path: string; file: File }[],
  ) {
    // Of two with one path the later one counts.
    const unique = new Map(files.map((one) => [one.path, one.file]));
    this.items = [...unique].map(([path, file]) => ({
      path,
      file,
      state: "waiting",
      sent: 0,
      receipt: "",
      error: null,
    }));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  get size(): number {
    return this.items.reduce((sum, item) => sum + item.file.size, 0);
  }

  get sent(): number {
    return this.items.reduce((sum, item) => sum + Math.min(item.sent, item.file.size), 0);
  }

  async start(message: string): Promise<void> {
    this.message = message;
    this.error = null;
    this.to("sending");
    try {
      this.txn ??= await begin();
      this.staying ??= setInterval(() => void begin(this.txn).catch(() => undefined), STAY);
      await this.work();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Sends a file again that failed, or all of them. */
  retry(item?: Item): void {
    for (const one of this.items) {
      if (one.state === "failed" && (!item || one === item)) {
        Object.assign(one, { state: "waiting", sent: 0, error: null });
      }
    }
    this.to("sending");
    void this.work().catch((error) => this.fail(error));
  }

  /** Goes on without a file. */
  leave(item: Item): void {
    this.items = this.items.filter((one) => one !== item);
    this.tell();
    if (this.phase === "stuck") void this.work().catch((error) => this.fail(error));
  }

  /** Forgets what was sent. A commit that is being made can no longer be stopped. */
  cancel(): void {
    if (["done", "cancelled", "committing"].includes(this.phase)) return;
    this.to("cancelled");
    this.stop.abort(new DOMException("cancelled", "AbortError"));
    if (this.txn) void drop(this.txn).catch(() => undefined);
    this.end();
  }

  private async work(): Promise<void> {
    const workers: Promise<void>[] = [];
    while (this.working < AT_A_TIME && workers.length < AT_A_TIME) {
      this.working += 1;
      workers.push(this.sendAll());
    }
    await Promise.all(workers);
    if (this.working > 0 || this.phase === "cancelled" || this.phase === "committing") return;
    if (this.items.some((item) => item.state === "waiting")) return this.work();
    if (this.items.some((item) => item.state === "failed")) this.to("stuck");
    else if (this.items.length > 0) await this.finish();
  }

  private async sendAll(): Promise<void> {
    try {
      for (;;) {
        const item = this.items.find((one) => one.state === "waiting");
        if (!item || this.stop.signal.aborted) return;
        await this.sendOne(item);
      }
    } finally {
      this.working -= 1;
    }
  }

  private async sendOne(item: Item): Promise<void> {
    item.state = "sending";
    this.tell();
    const onSent = (bytes: number) => {
      item.sent = bytes;
      this.tell();
    };
    try {
      item.receipt = await deliver(this.txn!, item.path, item.file, onSent, this.stop.signal);
      Object.assign(item, { state: "done", sent: item.file.size });
    } catch (error) {
      Object.assign(item, { state: "failed", error });
    }
    this.tell();
  }

  private async finish(): Promise<void> {
    this.to("committing");
    const receipts = this.items.map((item) => item.receipt);
    this.commit = await commitUpload(this.txn!, this.repo, this.branch, receipts, this.message);
    this.end();
    this.to("done");
  }

  private fail(error: unknown): void {
    if (this.phase === "cancelled") return;
    this.error = error;
    this.to("failed");
  }

  private end(): void {
    clearInterval(this.staying);
    this.staying = undefined;
  }

  private to(phase: Phase): void {
    this.phase = phase;
    this.tell();
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
