import { expect, test } from "vitest";
import type { PipelinePlan } from "~/api/pipelines";
import { datumWords, howWords, planWords, reasonWords } from "./words";

const PLAN: PipelinePlan = {
  name: { project: "default", repo: "clean" },
  action: "update",
  version: 2,
  run: 1,
  reuse: 0,
  keep: 3,
  drop: 2,
  reasons: {},
  samples: [],
  downstream: [],
  note: "",
};
const COUNTS = {
  processed: 1,
  skipped: 3,
  failed: 0,
  recovered: 0,
  total: 4,
  bytes_in: 0,
  bytes_out: 0,
  download: 0,
  process: 0,
  upload: 0,
  spark_jobs: [],
  rows_in: null,
  rows_out: null,
};

test("a plan in a sentence", () => {
  expect(planWords(PLAN)).toBe(
    "clean gets a new version (v2): 1 datum to run, 3 datums kept, 2 datums dropped.",
  );
  expect(planWords({ ...PLAN, action: "unchanged", run: 0, keep: 0, drop: 0 })).toBe(
    "clean stays as it is (v2): nothing to run.",
  );
});

test("reasons, the most frequent first", () => {
  expect(reasonWords({ new: 1, "input changed": 3, unchanged: 9 })).toBe("3 input changed, 1 new");
  expect(reasonWords({ unchanged: 2 })).toBe("2 unchanged");
});

test("datums and batches", () => {
  expect(datumWords(COUNTS)).toBe("4 datums: 1 ran, 3 skipped");
  expect(datumWords({ ...COUNTS, total: 2 }, "batch")).toBe("2 batches");
  expect(datumWords({ ...COUNTS, total: 0 })).toBe("no datums");
});

test("how a pipeline works", () => {
  expect(howWords({ kind: "pipeline", how: "sql" })).toBe("sql");
  expect(howWords({ kind: "ingest", how: "folder" })).toBe("ingest: folder");
});
