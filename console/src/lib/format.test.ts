import { describe, expect, it } from "vitest";
import { ago, between, bytes, plural, seconds, shortId } from "./format";

describe("bytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [14_240, "14 kB"],
    [999_600, "1.0 MB"],
    [2_500_000_000, "2.5 GB"],
  ])("%d is %s", (n, text) => expect(bytes(n)).toBe(text));
});

describe("seconds", () => {
  it.each([
    [0.0123, "12 ms"],
    [1.25, "1.3 s"],
    [42.4, "42 s"],
    [125, "2 min 5 s"],
    [3_720, "1 h 2 min"],
    [90_000, "1 d 1 h"],
  ])("%d is %s", (n, text) => expect(seconds(n)).toBe(text));
});

describe("times", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  it("are near or far", () => {
    expect(ago("2026-01-02T11:59:58Z", now)).toBe("now");
    expect(ago("2026-01-02T11:59:20Z", now)).toBe("40s ago");
    expect(ago("2026-01-02T09:00:00Z", now)).toBe("3h ago");
    expect(ago("2026-01-02T12:02:00Z", now)).toBe("in 2m");
  });
  it("never last less than nothing", () => {
    expect(between("2026-01-02T12:00:05Z", "2026-01-02T12:00:00Z")).toBe(0);
    expect(between("2026-01-02T11:59:00Z", null, now)).toBe(60);
  });
});

it("counts in words", () => {
  expect(plural(1, "row")).toBe("1 row");
  expect(plural(2000, "row")).toBe("2,000 rows");
  expect(plural(0, "branch", "branches")).toBe("0 branches");
});

it("shortens IDs", () => expect(shortId("01a1e09aed927f36979e93b9716cfd11")).toBe("01a1e09aed92"));
