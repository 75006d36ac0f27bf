import { beforeEach, expect, test } from "vitest";
import { type Recent, recents, remember } from "./recent";

const one = (text: string): Recent => ({ kind: "repo", text, where: "", to: `/repos/p/${text}` });

beforeEach(() => localStorage.clear());

test("the latest stands first, once, and few are kept", () => {
  for (const text of ["a", "b", "c", "d", "e", "f", "g", "a"]) remember(one(text));
  expect(recents().map((found) => found.text)).toEqual(["a", "g", "f", "e", "d", "c"]);
});

test.each(["{", "null", '[1, {"to": 3}]', '[{"kind":"","text":"","where":"","to":"https://x"}]'])(
  "what is kept wrongly is nothing: %s",
  (text) => {
    localStorage.setItem("trunkline.recent", text);
    expect(recents()).toEqual([]);
  },
);
