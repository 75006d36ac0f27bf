/** Files that the browser saves, made from what is on the page. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

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
