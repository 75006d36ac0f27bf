import { describe, expect, it, vi } from "vitest";
import { PAGE, Pages } from "./pages";

const numbers = (start: number, limit: number, count = 100_000) =>
  Array.from({ length: Math.max(0, Math.min(limit, count - start)) }, (_, n) => [start + n]);

function made(kept?: number) {
  const fetchPage = vi.fn(async (start: number, limit: number) => numbers(start, limit));
  const failed = vi.fn();
  return { fetchPage, failed, pages: new Pages(fetchPage, () => undefined, failed, kept) };
}

describe("pages of rows", () => {
  it("are fetched where one looks, once", async () => {
    const { pages, fetchPage } = made();
    await pages.want(99_990, 99_999, 100_000);
    expect(pages.row(99_999)).toEqual([99_999]);
    expect(pages.row(0)).toBeUndefined();
    await pages.want(99_990, 99_999, 100_000);
    expect(fetchPage).toHaveBeenCalledTimes(1);
  });
  it("are not asked for twice while they are under way", async () => {
    const { pages, fetchPage } = made();
    await Promise.all([pages.want(0, 10, 1000), pages.want(5, 20, 1000)]);
    expect(fetchPage).toHaveBeenCalledTimes(1);
  });
  it("are fetched again when more rows have come", async () => {
    let count = 10;
    const fetchPage = vi.fn(async (start: number, limit: number) => numbers(start, limit, count));
    const pages = new Pages(
      fetchPage,
      () => undefined,
      () => undefined,
    );
    await pages.want(0, 9, count);
    count = 20;
    await pages.want(0, 19, count);
    expect(pages.row(19)).toEqual([19]);
  });
  it("do not fill the memory", async () => {
    const { pages, fetchPage } = made(3);
    for (let n = 0; n < 10; n += 1) await pages.want(n * PAGE, n * PAGE, 100_000);
    expect(pages.row(0)).toBeUndefined();
    expect(pages.row(9 * PAGE)).toEqual([9 * PAGE]);
    expect(fetchPage).toHaveBeenCalledTimes(10);
  });
  it("give the first rows up to a gap", async () => {
    const { pages } = made();
    await pages.want(0, PAGE - 1, 100_000);
    await pages.want(3 * PAGE, 3 * PAGE, 100_000);
    expect(pages.first(10 * PAGE)).toHaveLength(PAGE);
  });
  it("say what failed and try again", async () => {
    const failed = vi.fn();
    const fetchPage = vi
      .fn()
      .mockRejectedValueOnce(new Error("gone"))
      .mockResolvedValue([[1]]);
    const pages = new Pages(fetchPage, () => undefined, failed);
    await pages.want(0, 0, 1);
    expect(failed).toHaveBeenCalledTimes(1);
    await pages.want(0, 0, 1);
    expect(pages.row(0)).toEqual([1]);
  });
});
