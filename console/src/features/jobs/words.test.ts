import { expect, test } from "vitest";
import { causeInWords, countsInWords } from "./words";

test.each([
  ["orders@main got 01a1e09aa7f1", "New data in orders"],
  ["shop/orders@dev got 01a1e09aa7f1", "New data in shop/orders (dev)"],
  ["commit on sessions", "New batch of sessions"],
  ["sessions@visits-trigger-1 moved", "The trigger visits-trigger-1 of sessions fired"],
  ["rerun of 01a1e09aa7f1", "Another try of 01a1e09aa7f1"],
  ["run by hand", "Run by hand"],
  ["replay of not_negative", "Quarantine of not_negative replayed"],
  ["something <b>new</b>", "something <b>new</b>"],
])("the cause %s", (cause, words) => {
  expect(causeInWords(cause)).toBe(words);
});

const NONE = {
  processed: 0,
  skipped: 0,
  failed: 0,
  recovered: 0,
  total: 0,
  bytes_in: 0,
  bytes_out: 0,
  download: 0,
  process: 0,
  upload: 0,
  spark_jobs: [],
};

test("counts say only what there is", () => {
  const job = {
    counts: { ...NONE, processed: 1, skipped: 98, failed: 1, total: 100 },
    is_stream: false,
  };
  expect(countsInWords(job)).toBe("100 datums: 1 ran, 98 skipped, 1 failed");
  expect(countsInWords({ counts: NONE, is_stream: false })).toBe("no datums");
  const batch = { counts: { ...NONE, processed: 1, total: 1 }, is_stream: true };
  expect(countsInWords(batch)).toBe("1 batch: 1 ran");
  const checked = { counts: { ...NONE, skipped: 2, total: 3 }, is_stream: false };
  expect(countsInWords({ ...checked, state: "running" })).toBe("3 datums: 2 skipped");
  expect(countsInWords({ ...checked, state: "failure" })).toBe("3 datums: 2 skipped, 1 not kept");
});
