import { expect, it } from "vitest";
import { dropped } from "./dropped";

type Tree = { [name: string]: Tree | string };

function entry(path: string, tree: Tree | string): FileSystemEntry {
  if (typeof tree === "string") {
    const file = (done: (file: File) => void) => done(new File([tree], "x"));
    return { isFile: true, fullPath: path, file } as unknown as FileSystemEntry;
  }
  const below = Object.entries(tree).map(([name, inner]) => entry(`${path}/${name}`, inner));
  const createReader = () => ({
    // Two at a time, as a browser tells of a large folder in pieces.
    readEntries: (done: (some: FileSystemEntry[]) => void) => done(below.splice(0, 2)),
  });
  return { isFile: false, fullPath: path, createReader } as unknown as FileSystemEntry;
}

const transfer = (...items: { entry?: FileSystemEntry; file?: File; kind?: string }[]) =>
  ({
    items: items.map(({ entry: found, file, kind = "file" }) => ({
      kind,
      webkitGetAsEntry: () => found ?? null,
      getAsFile: () => file ?? null,
    })),
  }) as unknown as DataTransfer;

it("walks folders, however large, and keeps their paths", async () => {
  const tree = { a: "1", b: "2", c: "3", deep: { er: { d: "4" } }, empty: {} };
  const found = await dropped(transfer({ entry: entry("/data", tree) }));
  expect(found.map((one) => one.name).sort()).toEqual([
    "data/a",
    "data/b",
    "data/c",
    "data/deep/er/d",
  ]);
  const texts = await Promise.all(found.map((one) => one.file.text()));
  expect(texts.sort()).toEqual(["1", "2", "3", "4"]);
});

it("takes files that are no entries, and nothing that is text", async () => {
  const file = new File(["x"], "plain.txt");
  const found = await dropped(transfer({ file }, { kind: "string" }));
  expect(found).toEqual([{ name: "plain.txt", file }]);
});
