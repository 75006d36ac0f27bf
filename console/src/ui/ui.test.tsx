import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter, useLocation } from "react-router";
import { describe, expect, it, vi } from "vitest";
import { ApiError } from "~/api/errors";
import { ActionDialog } from "./Dialog";
import { Link } from "./Link";
import { List } from "./List";
import { Answer } from "./Messages";
import { Tabs } from "./Tabs";

function Where() {
  const { pathname, search } = useLocation();
  return <output>{pathname + search}</output>;
}

describe("links", () => {
  it.each([
    ["/repos", "/repos?moment=abc"],
    ["/repos?q=1", "/repos?q=1&moment=abc"],
    ["/repos?moment=xyz", "/repos?moment=xyz"],
    ["/jobs/a/b/c#L3", "/jobs/a/b/c?moment=abc#L3"],
  ])("stay in the moment: %s", (to, href) => {
    render(
      <MemoryRouter initialEntries={["/graph?moment=abc"]}>
        <Link to={to}>there</Link>
      </MemoryRouter>,
    );
    expect(screen.getByText("there").getAttribute("href")).toBe(href);
  });
});

describe("tabs", () => {
  it("stand in the URL and forget what belonged to another", async () => {
    render(
      <MemoryRouter initialEntries={["/x?tab=two&line=3&keep=1"]}>
        <Tabs
          label="Parts"
          clears={["line"]}
          tabs={[
            { id: "one", title: "One", body: () => <p>first</p> },
            { id: "two", title: "Two", body: () => <p>second</p> },
          ]}
        />
        <Where />
      </MemoryRouter>,
    );
    expect(screen.getByText("second")).toBeTruthy();
    await userEvent.click(screen.getByRole("tab", { name: "One" }));
    expect(screen.getByText("first")).toBeTruthy();
    expect(screen.getByRole("status", { hidden: true }).textContent).toBe("/x?keep=1");
  });
});

describe("a list", () => {
  const items = [
    { name: "b", size: 1 },
    { name: "a", size: 30 },
    { name: "c", size: 4 },
  ];
  const names = () =>
    screen
      .getAllByRole("row")
      .slice(1)
      .map((row) => within(row).getAllByRole("cell")[0]?.textContent);

  it("is sorted by a column, back, and not at all", async () => {
    render(
      <MemoryRouter>
        <List
          label="Things"
          items={items}
          keyOf={(item) => item.name}
          columns={[
            { id: "name", title: "Name", cell: (item) => item.name },
            { id: "size", title: "Size", cell: (item) => item.size, sort: (item) => item.size },
          ]}
        />
      </MemoryRouter>,
    );
    expect(names()).toEqual(["b", "a", "c"]);
    await userEvent.click(screen.getByRole("button", { name: /Size/ }));
    expect(names()).toEqual(["b", "c", "a"]);
    await userEvent.click(screen.getByRole("button", { name: /Size/ }));
    expect(names()).toEqual(["a", "c", "b"]);
    await userEvent.click(screen.getByRole("button", { name: /Size/ }));
    expect(names()).toEqual(["b", "a", "c"]);
  });
});

describe("an answer", () => {
  const asked = { data: undefined, error: null, isPending: true };
  it("is awaited, shown, or its refusal is", () => {
    const { rerender } = render(<Answer of={asked}>{() => "never"}</Answer>);
    expect(screen.getByRole("status")).toBeTruthy();
    rerender(<Answer of={{ ...asked, data: "seen" }}>{(text) => text}</Answer>);
    expect(screen.getByText("seen")).toBeTruthy();
    const error = new ApiError(403, "not_allowed", "ada may not read it.", "Ask an admin.");
    rerender(<Answer of={{ ...asked, error }}>{() => "never"}</Answer>);
    expect(screen.getByRole("alert").textContent).toContain("ada may not read it.Ask an admin.");
  });
});

describe("an action", () => {
  it("that fails stays open and says why", async () => {
    const close = vi.fn();
    const doing = vi
      .fn()
      .mockRejectedValueOnce(new ApiError(409, "conflict", "It exists already."));
    render(<ActionDialog open onClose={close} title="Make it" action="Make" doing={doing} />);
    await userEvent.click(screen.getByRole("button", { name: "Make" }));
    expect(screen.getByRole("alert").textContent).toContain("It exists already.");
    expect(close).not.toHaveBeenCalled();
    doing.mockResolvedValueOnce(undefined);
    await userEvent.click(screen.getByRole("button", { name: "Make" }));
    expect(close).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["in a field", true, "Name", 1],
    ["in a field, when there is something missing", false, "Name", 0],
    ["at a box to tick", true, "Sure", 0],
  ])("takes Enter %s", async (_where, ready, label, times) => {
    const doing = vi.fn().mockResolvedValue(undefined);
    render(
      <ActionDialog
        open
        onClose={vi.fn()}
        title="Make it"
        action="Make"
        doing={doing}
        ready={ready}
      >
        <input aria-label="Name" />
        <input aria-label="Sure" type="checkbox" />
      </ActionDialog>,
    );
    screen.getByLabelText(label).focus();
    await userEvent.keyboard("{Enter}");
    expect(doing).toHaveBeenCalledTimes(times);
  });
});
