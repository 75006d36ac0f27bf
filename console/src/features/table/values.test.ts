import { describe, expect, it } from "vitest";
import { barsInWords, histogramBars, share, topBars, valueText } from "./values";

describe("values of a profile", () => {
  it("have five digits that count", () => {
    expect(valueText(26.64530271398746)).toBe("26.645");
    expect(valueText(10.600000000000001)).toBe("10.6");
    expect(valueText(1234567)).toBe("1,234,600");
    expect(valueText(0)).toBe("0");
  });

  it("lose midnight, and nothing else", () => {
    expect(valueText("2026-01-04T00:00:00+00:00")).toBe("2026-01-04");
    expect(valueText("2026-01-04T00:00:01+00:00")).toBe("2026-01-04T00:00:01+00:00");
    expect(valueText("<b>2026-01-04</b>")).toBe("<b>2026-01-04</b>");
    expect(valueText(null)).toBe("null");
    expect(valueText({ a: [1] })).toBe('{"a":[1]}');
  });
});

describe("a share", () => {
  it("is never rounded to nothing or to all", () => {
    expect(share(0, 10)).toBe("0 %");
    expect(share(10, 10)).toBe("100 %");
    expect(share(1, 100_000)).toBe("<0.1 %");
    expect(share(99_999, 100_000)).toBe(">99.9 %");
    expect(share(1, 3)).toBe("33 %");
    expect(share(1, 40)).toBe("2.5 %");
    expect(share(0, 0)).toBe("0 %");
  });
});

describe("bars", () => {
  it("are ranges or values, with how many there are", () => {
    expect(histogramBars([[3.2, 6.9, 33]])).toEqual([{ label: "3.2 – 6.9", count: 33 }]);
    expect(topBars([["osaka", 170]])).toEqual([{ label: "osaka", count: 170 }]);
  });

  it("are told in words", () => {
    const bars = histogramBars([
      [0, 1, 1],
      [1, 2, 3],
    ]);
    expect(barsInWords(bars)).toBe("Histogram of 2 ranges. Most values, 75 %, are in 1 – 2.");
  });
});
