import { expect, test } from "vitest";
import { ruleWords } from "./Rules";

test("a rule as it was written", () => {
  expect(ruleWords({ name: "a", expr: "amount >= 0", action: "warn" })).toBe("amount >= 0");
  expect(ruleWords({ name: "b", unique: ["day", "id"] })).toBe("unique: day, id");
  expect(ruleWords({ accepted_values: { column: "shop", values: ["a"] } })).toBe(
    'accepted_values: {"column":"shop","values":["a"]}',
  );
});
