import { FileUp, FolderUp, Upload } from "lucide-react";
import { useRef } from "react";
import { Button } from "~/ui/Button";
import { Menu } from "~/ui/Menu";
import { type Chosen, chosen } from "../upload/dropped";

/** Chooses files or a whole folder to upload. */
export function UploadButton({ onChosen }: { onChosen: (files: Chosen[]) => void }) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const take = (input: HTMLInputElement) => {
    const found = chosen(input.files);
    input.value = "";
    if (found.length > 0) onChosen(found);
  };
  return (
    <>
      <Menu
        items={[
          { text: "Files…", icon: FileUp, act: () => files.current?.click() },
          { text: "A folder…", icon: FolderUp, act: () => folder.current?.click() },
        ]}
      >
        <Button kind="primary" icon={Upload}>
          Upload
        </Button>
      </Menu>
      <input
        ref={files}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(event) => take(event.target)}
      />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label="Folder to upload"
        {...{ webkitdirectory: "" }}
        onChange={(event) => take(event.target)}
      />
    </>
  );
}
