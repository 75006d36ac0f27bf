import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deliver } from "./transfer";
import { Upload } from "./upload";

// The API's client keeps the `fetch` that it finds when it is loaded.
const lake = vi.hoisted(() => {
  const box = { fetch: (_: Request): Promise<Response> => Promise.reject(new Error("not set")) };
  globalThis.fetch = (request) => box.fetch(request as Request);
  return box;
});

interface Sent {
  method: string;
  path: string;
  query: URLSearchParams;
  offset?: string;
  body: Blob | null;
}

type Answer = [status: number, body?: unknown];

let sent: Sent[];
let answer: (request: Sent) => Answer;
let running: number;
let most: number;

/** As much of an XMLHttpRequest as uploads use, answered by the test. */
class FakeRequest {
  upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  onabort?: () => void;
  onloadend?: () => void;
  status = 0;
  responseText = "";
  private request: Sent = { method: "", path: "", query: new URLSearchParams(), body: null };

  open(method: string, url: string) {
    const { pathname, searchParams } = new URL(url, "http://lake");
    this.request = { method, path: pathname, query: searchParams, body: null };
  }

  setRequestHeader(name: string, value: string) {
    if (name === "Upload-Offset") this.request.offset = value;
  }

  abort() {
    this.onabort?.();
    this.onloadend?.();
  }

  send(body: Blob | null) {
    this.request.body = body;
    sent.push(this.request);
    running += 1;
    most = Math.max(most, running);
    if (body) this.upload.onprogress?.({ loaded: body.size });
    setTimeout(() => {
      running -= 1;
      const [status, told] = answer(this.request);
      this.status = status;
      this.responseText = told === undefined ? "" : JSON.stringify(told);
      if (status === 0) this.onerror?.();
      else this.onload?.();
      this.onloadend?.();
    }, 1);
  }
}

const REPO = { project: "default", repo: "orders" };
const file = (text: string) => new File([text], "x");
const refused = { error: { code: "not_allowed", message: "You may not.", hint: "Ask." } };

let ended: { operations: { operations: { receipts: string[] }[] }[]; message: string }[];
let commitStatus: number;

beforeEach(() => {
  sent = [];
  ended = [];
  running = most = 0;
  commitStatus = 200;
  answer = ({ query }) => [200, { receipt: `receipt of ${query.get("path")}` }];
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  lake.fetch = async (request) => {
    if (request.url.endsWith("/commit")) {
      ended.push(await request.json());
      const body = commitStatus === 200 ? { items: [{ id: "c1" }] } : refused;
      return Response.json(body, { status: commitStatus });
    }
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    return Response.json({ id: "t1" }, { status: 201 });
  };
});
afterEach(() => vi.unstubAllGlobals());

const upload = (count: number) =>
  new Upload(
    REPO,
    "main",
    Array.from({ length: count }, (_, n) => ({ path: `/f${n}`, file: file("abc") })),
  );

describe("an upload", () => {
  it("sends all files, three at a time, and makes one commit of them", async () => {
    const run = upload(8);
    await run.start("All of them");
    expect(run.phase).toBe("done");
    expect(run.commit?.id).toBe("c1");
    expect(most).toBe(3);
    expect(sent).toHaveLength(8);
    expect(run.sent).toBe(run.size);
    expect(ended).toHaveLength(1);
    expect(ended[0]!.message).toBe("All of them");
    expect(ended[0]!.operations[0]!.operations[0]!.receipts).toEqual(
      run.items.map((item) => `receipt of ${item.path}`),
    );
  });

  it("waits with the commit until what failed was sent again", async () => {
    let broken = true;
    answer = ({ query }) =>
      broken && query.get("path") === "/f1" ? [403, refused] : [200, { receipt: "r" }];
    const run = upload(3);
    await run.start("m");
    expect(run.phase).toBe("stuck");
    expect(ended).toHaveLength(0);
    const failed = run.items.find((item) => item.state === "failed")!;
    expect((failed.error as Error).message).toBe("You may not.");
    broken = false;
    run.retry(failed);
    await vi.waitFor(() => expect(run.phase).toBe("done"));
    expect(ended).toHaveLength(1);
    expect(sent).toHaveLength(4);
  });

  it("goes on without a file that is left out", async () => {
    answer = ({ query }) =>
      query.get("path") === "/f0" ? [403, refused] : [200, { receipt: "r" }];
    const run = upload(2);
    await run.start("m");
    run.leave(run.items.find((item) => item.state === "failed")!);
    await vi.waitFor(() => expect(run.phase).toBe("done"));
    expect(ended[0]!.operations[0]!.operations[0]!.receipts).toEqual(["r"]);
  });

  it("says why there is no commit, and tries again without sending again", async () => {
    commitStatus = 403;
    const run = upload(2);
    await run.start("m");
    expect(run.phase).toBe("failed");
    expect((run.error as Error).message).toBe("You may not.");
    commitStatus = 200;
    await run.start("m");
    expect(run.phase).toBe("done");
    expect(sent).toHaveLength(2);
  });

  it("stops when it is cancelled", async () => {
    const run = upload(9);
    answer = () => {
      run.cancel();
      return [200, { receipt: "r" }];
    };
    await run.start("m");
    expect(run.phase).toBe("cancelled");
    expect(ended).toHaveLength(0);
    expect(sent.length).toBeLessThan(9);
  });

  it("takes the later of two files with one path", () => {
    const later = file("later");
    const run = new Upload(REPO, "main", [
      { path: "/a", file: file("first") },
      { path: "/a", file: later },
    ]);
    expect(run.items.map((item) => item.file)).toEqual([later]);
  });
});

describe("a large file", () => {
  it("goes in parts, and on from where it was cut off", async () => {
    let cut = true;
    let asked = 0;
    answer = ({ method, path, offset }) => {
      if (path.endsWith("/uploads")) return [201, { id: "u1" }];
      if (path.endsWith("/finish")) return [200, { receipt: "whole" }];
      if (method === "GET") {
        asked += 1;
        return asked === 1 ? [0] : [200, { offset: 6 }];
      }
      if (cut && offset === "4") {
        cut = false;
        return [0];
      }
      return [204];
    };
    const told: number[] = [];
    const receipt = await deliver(
      "t1",
      "/big",
      file("0123456789"),
      (bytes) => told.push(bytes),
      new AbortController().signal,
      4,
      4,
    );
    expect(receipt).toBe("whole");
    const parts = sent.filter((one) => one.method === "PATCH");
    expect(parts.map((one) => [one.offset, one.body?.size])).toEqual([
      ["0", 4],
      ["4", 4],
      ["6", 4],
    ]);
    expect(told.at(-1)).toBe(10);
  });
});
