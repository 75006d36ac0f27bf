import { expect, it } from "vitest";
import { triggerText } from "./triggers";

it("says when a branch follows another", () => {
  expect(triggerText({ on: "staging", commits: 3, size: null })).toBe(
    "follows staging: 3 new commits",
  );
  expect(triggerText({ on: "main", size: 2_000_000, cron: "0 8 * * *", all: true })).toBe(
    "follows main: 2.0 MB of new data and 0 8 * * * (UTC)",
  );
  expect(triggerText({ on: "main" })).toBe("follows main");
});
