import { QueryClient } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";
import { key } from "./keys";
import { listen, Refresher } from "./live";

const orders = { project: "default", repo: "orders" };
const goods = { project: "default", repo: "goods" };

function fetched(client: QueryClient): string[] {
  return client
    .getQueryCache()
    .getAll()
    .filter((query) => query.state.isInvalidated)
    .map((query) => JSON.stringify(query.queryKey));
}

function filled(): QueryClient {
  const client = new QueryClient();
  for (const one of [
    key("commits", orders, "branches"),
    key("commits", goods, "branches"),
    key("overview", null),
    key("fixed", orders, "file"),
    key("pipelines", orders),
    key("jobs", null),
  ]) {
    client.setQueryData(one, 1);
  }
  return client;
}

describe("an event", () => {
  it("makes stale what it is about, and what is of the whole lake", () => {
    const client = filled();
    const refresher = new Refresher(client);
    refresher.take({ kind: "commit", repo: orders });
    refresher.flush();
    expect(fetched(client)).toEqual(
      [key("commits", orders, "branches"), key("overview", null)].map((one) => JSON.stringify(one)),
    );
  });
  it("of a kind that nobody knows makes nothing stale", () => {
    const client = filled();
    const refresher = new Refresher(client);
    refresher.take({ kind: "eclipse", repo: orders });
    refresher.flush();
    expect(fetched(client)).toEqual([]);
  });
});

it("gathers what comes at once", () => {
  vi.useFakeTimers();
  const client = filled();
  const refetch = vi.spyOn(client, "invalidateQueries");
  const refresher = new Refresher(client, 400);
  for (let n = 0; n < 100; n += 1) refresher.take({ kind: "job", repo: orders });
  expect(refetch).not.toHaveBeenCalled();
  vi.advanceTimersByTime(400);
  expect(refetch).toHaveBeenCalledTimes(1);
  vi.useRealTimers();
});

describe("the connection for events", () => {
  const opened: FakeSource[] = [];

  class FakeSource {
    static readonly CLOSED = 2;
    readyState = 1;
    onopen = () => {};
    onerror = () => {};
    constructor() {
      opened.push(this);
    }
    close() {
      this.readyState = FakeSource.CLOSED;
    }
  }

  afterEach(() => {
    opened.length = 0;
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  function listening() {
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", FakeSource);
    vi.stubGlobal("navigator", { locks: undefined });
    const heard: string[] = [];
    const stop = new AbortController();
    listen((message) => heard.push(message), stop.signal);
    return { heard, stop };
  }

  it("is made anew where the browser has given it up", () => {
    const { heard, stop } = listening();
    opened[0]!.onerror();
    vi.advanceTimersByTime(60_000);
    expect(opened).toHaveLength(1);
    opened[0]!.readyState = FakeSource.CLOSED;
    opened[0]!.onerror();
    vi.advanceTimersByTime(60_000);
    expect(opened).toHaveLength(2);
    opened[1]!.onopen();
    expect(heard).toEqual(["lost", "lost", "open"]);
    stop.abort();
  });

  it("ends with the screen", () => {
    const { stop } = listening();
    opened[0]!.readyState = FakeSource.CLOSED;
    opened[0]!.onerror();
    stop.abort();
    vi.advanceTimersByTime(60_000);
    expect(opened).toHaveLength(1);
  });
});
