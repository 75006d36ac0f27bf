import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";
import { SearchBox } from "./Field";

let tell: (text: string) => void = () => undefined;

/** As the URL does: what is told comes back later. */
function Late() {
  const [value, setValue] = useState("");
  tell = setValue;
  return (
    <SearchBox label="Find" value={value} onChange={(text) => setTimeout(setValue, 20, text)} />
  );
}

const later = () => act(() => new Promise((resolve) => setTimeout(resolve, 60)));
const box = () => screen.getByRole<HTMLInputElement>("searchbox", { name: "Find" });

test("what is typed quickly is not lost when its value comes late", async () => {
  render(<Late />);
  await userEvent.type(box(), "orders");
  expect(box().value).toBe("orders");
  await later();
  expect(box().value).toBe("orders");
});

test("a value from elsewhere is shown, also one that was typed before", async () => {
  render(<Late />);
  await userEvent.type(box(), "ab");
  await later();
  act(() => tell("elsewhere"));
  expect(box().value).toBe("elsewhere");
  act(() => tell("ab"));
  expect(box().value).toBe("ab");
});
