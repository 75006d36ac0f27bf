import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { heights, JobBars } from "./JobBars";

const job = (id: string, state: "success" | "failure", length: number) => ({
  id,
  state,
  created: "2026-01-01T00:00:00Z",
  started: "2026-01-01T00:00:00Z",
  finished: new Date(Date.UTC(2026, 0, 1) + length * 1000).toISOString(),
});

test("a long job is high, a short one can still be seen", () => {
  expect(heights([100, 25, 0])).toEqual([20, 10, 3]);
  expect(heights([])).toEqual([]);
});

test("jobs are told in words, too", () => {
  render(
    <JobBars jobs={[job("a", "success", 4), job("b", "failure", 1), job("c", "success", 1)]} />,
  );
  const bars = screen.getByRole("img", { name: "3 jobs: 2 success, 1 failure" });
  expect([...bars.children].map((one) => one.getAttribute("title"))).toEqual([
    "success, 4.0 s",
    "failure, 1.0 s",
    "success, 1.0 s",
  ]);
});

test("without jobs there is no picture", () => {
  render(<JobBars jobs={[]} />);
  expect(screen.queryByRole("img")).toBeNull();
});
