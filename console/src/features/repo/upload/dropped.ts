/** Files that were dropped or chosen, with their paths: folders are walked. */

export interface Chosen {
  /** Relative, without a slash in front. */
  name: string;
  file: File;
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // A browser tells of a folder some hundred entries at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}

async function walk(entry: FileSystemEntry): Promise<Chosen[]> {
  if (entry.isFile) {
    const name = entry.fullPath.replace(/^\/+/, "");
    return [{ name, file: await fileOf(entry as FileSystemFileEntry) }];
  }
  const below = await entriesOf(entry as FileSystemDirectoryEntry);
  return (await Promise.all(below.map(walk))).flat();
}

/** What a drop brought. Its items are gone after the event, so they are taken at once. */
export async function dropped(transfer: DataTransfer): Promise<Chosen[]> {
  const taken = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() }));
  const found = await Promise.all(
    taken.map(async ({ entry, file }) => {
      if (entry) return walk(entry);
      return file ? [{ name: file.name, file }] : [];
    }),
  );
  return found.flat();
}

/** What was chosen in a dialog; of a folder with the paths below it. */
export const chosen = (files: FileList | null): Chosen[] =>
  [...(files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
