import { useQuery } from "@tanstack/react-query";
import { LogIn } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import { accessQueries, login, setUp } from "~/api/access";
import { Mark } from "~/app/Mark";
import { Button } from "~/ui/Button";
import { Field, Input } from "~/ui/Field";
import { Answer, Failure } from "~/ui/Messages";
import styles from "./Login.module.css";
import { safeNext } from "./next";

const LEAST_PASSWORD = 10;

/** The door. Whoever comes through begins anew: nothing of who was here before is kept. */
export default function LoginPage() {
  const ways = useQuery(accessQueries.ways());
  const [params] = useSearchParams();
  const enter = () => window.location.assign(safeNext(params.get("next")));
  useEffect(() => {
    document.title = "Log in · Trunkline";
  }, []);
  return (
    <main className={styles.door}>
      <div className={styles.card}>
        <div className={styles.brand}>
          <Mark size={32} />
          Trunkline
        </div>
        <Answer of={ways}>
          {({ auth, setup, oidc }) =>
            !auth ? (
              <Open enter={enter} />
            ) : setup ? (
              <SetUp enter={enter} />
            ) : (
              <Known {...{ oidc, enter }} />
            )
          }
        </Answer>
      </div>
    </main>
  );
}

/** A form whose answer may be a refusal, shown in the API's words. */
function useSending(send: () => Promise<unknown>, enter: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await send();
      enter();
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return { busy, submit, refusal: error !== null && <Failure error={error} /> };
}

function Known({ oidc, enter }: { oidc: boolean; enter: () => void }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { busy, submit, refusal } = useSending(() => login(name.trim(), password), enter);
  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)}>
      <h1>Log in</h1>
      <Field label="Name">
        <Input
          name="username"
          autoComplete="username"
          autoFocus
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="Password">
        <Input
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      {refusal}
      <Button type="submit" kind="primary" busy={busy}>
        Log in
      </Button>
      {oidc && (
        <>
          <p className={styles.or}>or</p>
          <Button icon={LogIn} onClick={() => window.location.assign("/api/v1/login/oidc")}>
            Single sign-on
          </Button>
        </>
      )}
    </form>
  );
}

function SetUp({ enter }: { enter: () => void }) {
  const [token, setToken] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { busy, submit, refusal } = useSending(
    () => setUp(token.trim(), name.trim(), password),
    enter,
  );
  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)}>
      <h1>The first user</h1>
      <p className="dim">This lake has no users yet. The first one is its admin.</p>
      <Field label="Set-up token" hint="The server printed it when it started. It is good once.">
        <Input
          autoFocus
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
      </Field>
      <Field label="Name" hint="Letters, digits and . _ @ + -">
        <Input
          name="username"
          autoComplete="username"
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="Password" hint={`${LEAST_PASSWORD} characters or more.`}>
        <Input
          name="password"
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      {refusal}
      <Button type="submit" kind="primary" busy={busy}>
        Begin
      </Button>
    </form>
  );
}

function Open({ enter }: { enter: () => void }) {
  return (
    <div className={styles.form}>
      <h1>Nobody is asked here</h1>
      <p>This server asks nobody who they are, so there is nothing to log in to.</p>
      <Button kind="primary" onClick={enter}>
        Open the console
      </Button>
      <p className="dim">
        To ask everybody: <code>trunkline serve --auth</code>
      </p>
    </div>
  );
}
