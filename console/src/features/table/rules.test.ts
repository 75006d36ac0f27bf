import { describe, expect, it } from "vitest";
import type { CheckRecord } from "~/api/types";
import { rulesOf, sampleOf } from "./rules";

const record = (name: string, job: string, table = ""): CheckRecord => ({
  pipeline: "clean",
  job,
  at: "2026-01-01T00:00:00Z",
  result: {
    name,
    kind: "expr",
    action: "fail",
    state: "passed",
    table,
    rows: 1,
    broken: 0,
    said: "",
    samples: [],
  },
});

describe("the rules of a table", () => {
  const records = [record("a", "03"), record("b", "03"), record("a", "01"), record("c", "01", "x")];

  it("each have their jobs, oldest first", () => {
    const [a, b] = rulesOf(records, "/");
    expect(a?.records.map((one) => one.job)).toEqual(["01", "03"]);
    expect(a?.last.job).toBe("03");
    expect(b?.name).toBe("b");
  });

  it("are those of that folder", () => {
    expect(rulesOf(records, "/x").map((one) => one.name)).toEqual(["c"]);
    expect(rulesOf(records, "/").map((one) => one.name)).toEqual(["a", "b"]);
  });

  it("end at the moment that is looked at", () => {
    expect(rulesOf(records, "/", "02").map((one) => [one.name, one.last.job])).toEqual([
      ["a", "01"],
    ]);
  });
});

describe("rows that broke a rule", () => {
  it("have the columns of all of them", () => {
    expect(sampleOf(['{"a":1}', '{"b":[2],"a":null}'])).toEqual({
      columns: ["a", "b"],
      rows: [
        [1, undefined],
        [null, [2]],
      ],
    });
  });

  it("may have a column with any name", () => {
    expect(sampleOf(['{"constructor":1}', '{"a":2}']).rows).toEqual([
      [1, undefined],
      [undefined, 2],
    ]);
  });

  it("are shown as they are if they are no objects", () => {
    expect(sampleOf(['{"a":', "[1]"])).toEqual({ columns: ["row"], rows: [['{"a":'], ["[1]"]] });
  });
});
