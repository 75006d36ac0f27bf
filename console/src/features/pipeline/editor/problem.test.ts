import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { ApiError } from "~/api/errors";
import { diagnosticOf, lineOf } from "./problem";

test("the line that a message names", () => {
  expect(lineOf("spec.yaml:5: transfrm is not a field.")).toEqual({
    line: 5,
    text: "transfrm is not a field.",
  });
  expect(lineOf("spec.yaml:5:12: no.")).toEqual({ line: 5, text: "no." });
  expect(lineOf("The server cannot be reached.").line).toBe(1);
  expect(lineOf("other.sql:7: no.")).toEqual({ line: 1, text: "other.sql:7: no." });
});

test("the mark is below what stands on the line", () => {
  const doc = Text.of(["a: 1", "  b: 2"]);
  const error = new ApiError(400, "invalid_spec", "spec.yaml:2: b is wrong.", "Mend it.");
  expect(diagnosticOf(error, doc)).toMatchObject({
    from: 7,
    to: 11,
    message: "b is wrong. Mend it.",
  });
});

test("a line beyond the text is its last", () => {
  const error = new ApiError(400, "invalid_spec", "spec.yaml:9: the end.");
  expect(diagnosticOf(error, Text.of(["a: 1", "b: 2"]))).toMatchObject({ from: 5, to: 9 });
});
