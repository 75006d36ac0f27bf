import { save } from "~/lib/save";

/** The chart with that label, with the page's colours written into it. */
export function saveSvg(label: string): void {
  const drawn = document.querySelector(
    `[role="img"][aria-label="${CSS.escape(label)}"] svg:last-of-type`,
  );
  if (!drawn) return;
  const copy = drawn.cloneNode(true) as SVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const looks = getComputedStyle(document.documentElement);
  const text = new XMLSerializer()
    .serializeToString(copy)
    .replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => looks.getPropertyValue(name).trim());
  save(new Blob([text], { type: "image/svg+xml" }), "chart.svg");
}
