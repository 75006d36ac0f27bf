import { describe, expect, it } from "vitest";
import { hasText, hexLines, kindOf, prettyJson, textOf } from "./kind";
import { cellsOf } from "./notebook";

describe("how a file is shown", () => {
  it.each([
    ["/a/rows.CSV", "rows"],
    ["/x.parquet", "rows"],
    ["/Dockerfile", "text"],
    ["/a.b/none", "unknown"],
    ["/sales.ipynb", "notebook"],
    ["/p.png", "image"],
    ["/s.wav", "audio"],
    ["/f.webm", "video"],
    ["/.json", "json"],
  ])("%s is %s", (path, kind) => expect(kindOf(path)).toBe(kind));

  it("knows which rows are text too", () => {
    expect(hasText("/a.csv")).toBe(true);
    expect(hasText("/a.parquet")).toBe(false);
  });

  it("tells text from bytes, also if its last character is cut", () => {
    const text = new TextEncoder().encode("grün");
    expect(textOf(text)).toBe("grün");
    expect(textOf(text.subarray(0, 3))).toBe("gr");
    expect(textOf(new Uint8Array([65, 0, 66]))).toBeNull();
    expect(textOf(new Uint8Array([0xff, 0xfe, 65]))).toBeNull();
  });

  it("writes bytes as people read them", () => {
    const lines = hexLines(new Uint8Array([...Array(18).keys()].map((n) => n + 60)));
    expect(lines).toEqual([
      "00000000  3c 3d 3e 3f 40 41 42 43  44 45 46 47 48 49 4a 4b  <=>?@ABCDEFGHIJK",
      "00000010  4c 4d                                             LM",
    ]);
  });

  it("formats JSON, or says that it is none", () => {
    expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(prettyJson("{")).toBeNull();
  });
});

describe("a notebook", () => {
  it("is read as cells of text", () => {
    const cells = cellsOf(
      JSON.stringify({
        cells: [
          { cell_type: "markdown", source: ["# A\n", "b"] },
          {
            cell_type: "code",
            execution_count: 3,
            source: "1/0",
            outputs: [
              { output_type: "stream", name: "stdout", text: ["x\n"] },
              { output_type: "display_data", data: { "image/png": "…" } },
              { output_type: "error", traceback: ["\u001b[31mZeroDivisionError\u001b[0m"] },
            ],
          },
        ],
      }),
    );
    expect(cells).toEqual([
      { kind: "markdown", number: null, source: "# A\nb", outputs: [] },
      {
        kind: "code",
        number: 3,
        source: "1/0",
        outputs: [
          { text: "x\n", bad: false },
          { text: "(image/png)", bad: false },
          { text: "ZeroDivisionError", bad: true },
        ],
      },
    ]);
  });

  it("may be anything else", () => {
    for (const text of ["", "[]", "null", '{"cells": 3}']) expect(cellsOf(text)).toBeNull();
    const odd = '{"cells": [null, {"source": {"a": 1}, "outputs": [7, null, {}]}]}';
    expect(cellsOf(odd)).toEqual([{ kind: "raw", number: null, source: "", outputs: [] }]);
  });
});
