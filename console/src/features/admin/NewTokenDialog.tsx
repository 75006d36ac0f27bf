import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { accessQueries, createToken, type NewToken } from "~/api/access";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { Failure, Note } from "~/ui/Messages";
import { CopyLine } from "./CopyLine";
import { RoleRows } from "./ScopeInput";
import { isAdmin, type RoleRow, rolesOf } from "./scopes";
import { LENGTHS } from "./tokens";
import { useChange } from "./useChange";

/** Makes a token, and shows its secret this once. */
export function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const who = useQuery(accessQueries.whoami());
  const admin = who.data !== undefined && isAdmin(who.data.grants ?? [], who.data.limits);
  const users = useQuery({ ...accessQueries.users(), enabled: admin });
  const change = useChange("access");
  const [note, setNote] = useState("");
  const [length, setLength] = useState(LENGTHS[2]?.value ?? "");
  const [owner, setOwner] = useState("");
  const [rows, setRows] = useState<RoleRow[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [made, setMade] = useState<NewToken | null>(null);
  const create = async () => {
    setBusy(true);
    setError(null);
    const order = {
      note: note.trim(),
      expires: length ? Number(length) : null,
      limits: rows.length > 0 ? rolesOf(rows) : null,
      owner: owner || null,
    };
    try {
      setMade(await change(createToken(order), "Made a token."));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  if (made) return <Secret made={made} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="New token"
      about="For programs and the command line. It may never do more than its owner."
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} onClick={() => void create()}>
            Create
          </Button>
        </>
      }
    >
      <Field label="What it is for">
        <Input value={note} onChange={(event) => setNote(event.target.value)} />
      </Field>
      <Field label="Good for">
        <Select
          value={length}
          onChange={(event) => setLength(event.target.value)}
          options={LENGTHS}
        />
      </Field>
      {users.data && users.data.length > 0 && (
        <Field label="Owner">
          <Select
            value={owner}
            onChange={(event) => setOwner(event.target.value)}
            options={[
              { value: "", text: `${who.data?.name} (you)` },
              ...users.data
                .filter((one) => one.name !== who.data?.name)
                .map((one) => ({ value: one.name, text: one.name })),
            ]}
          />
        </Field>
      )}
      <RoleRows
        legend={rows.length > 0 ? "It may, and no more" : "It may do what its owner may"}
        rows={rows}
        onChange={setRows}
      />
      {error !== null && <Failure error={error} />}
    </Dialog>
  );
}

function Secret({ made, onClose }: { made: NewToken; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="The new token"
      foot={
        <Button kind="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <Note>It is shown this once. Only a hash of it is stored, so nobody can show it again.</Note>
      <CopyLine label="Token" text={made.token} />
      {made.s3_access_key && <CopyLine label="S3 access key" text={made.s3_access_key} />}
      {made.s3_secret && <CopyLine label="S3 secret key" text={made.s3_secret} />}
    </Dialog>
  );
}
