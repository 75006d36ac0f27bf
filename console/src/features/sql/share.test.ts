import { describe, expect, it } from "vitest";
import { link, packed, unpacked } from "./share";

const opened = (url: string) => unpacked(new URL(url).searchParams);

describe("a shared query", () => {
  it.each([
    "SELECT 1",
    "SELECT 'ä + 漢 & =' -- %20",
    `SELECT ${Array.from({ length: 4000 }, (_, n) => `col_${n}`).join(", ")} FROM t`,
  ])("comes back as it was", async (text) => {
    expect(await opened(await link({ text, engine: "duckdb" }))).toBe(text);
  });
  it("is packed when it is long", async () => {
    const long = "x".repeat(5000);
    const { q, z } = await packed(long);
    expect(q).toBeNull();
    expect(z!.length).toBeLessThan(200);
  });
  it("carries what else was chosen", async () => {
    const url = new URL(
      await link(
        { text: "SELECT 1", engine: "spark", at: "01ab", project: "shop" },
        { chart: "bar" },
      ),
    );
    expect(Object.fromEntries(url.searchParams)).toEqual({
      q: "SELECT 1",
      engine: "spark",
      moment: "01ab",
      project: "shop",
      chart: "bar",
    });
  });
  it("that is broken is empty", async () => {
    expect(await unpacked(new URLSearchParams({ z: "!!not packed" }))).toBe("");
  });
});
