import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { codeOf, Failure } from "../parts/failure.tsx";
import { CheckField, TextField } from "../parts/field.tsx";
import { answers, signIn } from "./service.ts";
import { addressNote, asAddress, unreachableHint } from "./sign-in-address.ts";

/** The folder that the page is served from: where the Worker has its API, if a Worker served it. */
function here(): string {
  return new URL("./", location.href.replace(/[?#].*$/, "")).href.replace(/\/$/, "");
}

/** Asks for the address, the tenant and the key, and checks them by a call. */
export function SignIn(): JSX.Element {
  const [address, setAddress] = useState("");
  const [tenant, setTenant] = useState("");
  const [key, setKey] = useState("");
  const [session, setSession] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{ readonly error: unknown; readonly address: string }>();
  const touched = useRef(false);

  useEffect(() => {
    if (!/^https?:$/.test(location.protocol)) return;
    void answers(here()).then((so) => {
      if (so && !touched.current) setAddress(here());
    });
  }, []);

  const note = addressNote(asAddress(address), location.protocol);
  const submit = async (event: Event) => {
    event.preventDefault();
    const url = asAddress(address);
    setBusy(true);
    setRefused(undefined);
    try {
      await signIn({ url, tenant, key }, session);
    } catch (error) {
      setRefused({ error, address: url });
      setBusy(false);
    }
  };
  return (
    <div class="con-sign-in">
      <form class="card stack con-sign-in-form" onSubmit={(event) => void submit(event)}>
        <h1>Sign in to a service</h1>
        {/* Who is in the field is about to write there: what is suggested comes too late. */}
        <div onFocusIn={() => (touched.current = true)}>
          <TextField
            label="Address"
            value={address}
            onInput={setAddress}
            placeholder="https://statewright.example.com"
            required
            autoComplete="url"
            hint="Where the Statewright service is"
          />
        </div>
        {note !== undefined && (
          <p class={`notice ${note.kind === "blocked" ? "notice-error" : "notice-warn"}`} role="status">
            {note.text}
          </p>
        )}
        <TextField
          label="Tenant"
          value={tenant}
          onInput={setTenant}
          required
          hint="The namespace to work in. It is not checked: a tenant that nobody used is empty"
        />
        <TextField label="API key" type="password" value={key} onInput={setKey} hint="The deployment’s key" />
        <CheckField label="Keep for this session (this tab)" checked={session} onChange={setSession} />
        <p class="field-hint">
          {session
            ? "The key stays in this tab’s session storage until you sign out or close the tab."
            : "The key stays in memory: it is gone when the page is closed or loaded again."}
        </p>
        {refused !== undefined && <Refused {...refused} />}
        <div class="row">
          <Button type="submit" kind="primary" busy={busy}>
            Sign in
          </Button>
        </div>
      </form>
    </div>
  );
}

function Refused({ error, address }: { error: unknown; address: string }): JSX.Element {
  return (
    <>
      <Failure error={error} what="Could not sign in" />
      {codeOf(error) === "NO_ANSWER" && <p class="notice">{unreachableHint(address, location.origin)}</p>}
    </>
  );
}
