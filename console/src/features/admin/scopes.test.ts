import { expect, test } from "vitest";
import type { Grant } from "~/api/access";
import { grantWords, isAdmin, rolesOf, scopeText } from "./scopes";

const one = (scope: string, role: Grant["role"]): Grant => ({ subject: "ada", scope, role });

test("scopes are typed as the command line takes them", () => {
  expect(scopeText("")).toBe("lake");
  expect(scopeText("lake")).toBe("lake/");
  expect(scopeText("shop/orders")).toBe("shop/orders");
});

test("grants in words", () => {
  expect(grantWords([one("", "reader"), one("shop", "writer"), one("shop/a", "admin")])).toBe(
    "reader on the whole lake, writer on project shop, admin on repo shop/a",
  );
});

test("rows without a scope are left out", () => {
  const rows = [
    { scope: " shop ", role: "reader" },
    { scope: "", role: "admin" },
  ];
  expect(rolesOf(rows)).toEqual({ shop: "reader" });
});

test("an admin is one of the whole lake, and a token may make less of them", () => {
  expect(isAdmin([one("", "admin")])).toBe(true);
  expect(isAdmin([one("shop", "admin")])).toBe(false);
  expect(isAdmin([one("", "writer")])).toBe(false);
  expect(isAdmin([one("", "admin")], [one("", "reader")])).toBe(false);
});
