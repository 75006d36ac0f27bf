import { beforeEach, expect, it } from "vitest";
import { forget, past, remember } from "./history";

beforeEach(forget);

const asked = (text: string) => ({ text, engine: "duckdb" });

it("keeps the newest first and each once", () => {
  for (const text of ["a", "b", "a"]) remember(asked(text));
  expect(past().map((one) => one.text)).toEqual(["a", "b"]);
});

it("keeps a hundred", () => {
  for (let n = 0; n < 120; n += 1) remember(asked(`SELECT ${n}`));
  expect(past()).toHaveLength(100);
  expect(past()[0]?.text).toBe("SELECT 119");
});

it("takes nothing that is no history", () => {
  localStorage.setItem("trunkline.sql.history", '{"text": 1}');
  expect(past()).toEqual([]);
  localStorage.setItem("trunkline.sql.history", "no json");
  expect(past()).toEqual([]);
});
