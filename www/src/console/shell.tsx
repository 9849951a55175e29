import { Boxes, LogOut, Search, Send, Timer, Users, Webhook } from "lucide";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { mayLeave } from "../app/route.ts";
import { Boundary } from "../parts/boundary.tsx";
import { Button } from "../parts/button.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { confirm, Dialog } from "../parts/overlays.tsx";
import { handover } from "./fork/handover.ts";
import { hostOf, LiveBar } from "./live-bar.tsx";
import { consoleLink, place, visit } from "./place.ts";
import { type Connection, signOut, switchTenant } from "./service.ts";

const SECTIONS = [
  { path: "machines", label: "Machines", icon: Boxes, with: ["machines", "register", "entity"] },
  { path: "outbox", label: "Outbox", icon: Send, with: ["outbox"] },
  { path: "scheduler", label: "Scheduler", icon: Timer, with: ["scheduler"] },
  { path: "sources", label: "Sources", icon: Webhook, with: ["sources"] },
  { path: "look-up", label: "Look up", icon: Search, with: ["look-up"] },
];

export interface ShellProps {
  readonly at: Connection;
  /** Which view is shown: another one gets the focus. */
  readonly view: string;
  readonly children: ComponentChildren;
}

/** What stands around every view of the console: where to go, who is signed in, and when it was read. */
export function Shell({ at, view, children }: ShellProps): JSX.Element {
  const content = useRef<HTMLDivElement>(null);
  const { path } = place.value;
  useEffect(() => content.current?.scrollTo(0, 0), [view]);
  const first = useRef(true);
  useEffect(() => {
    // What was clicked can be gone with the view before: the keyboard goes on from the new one.
    if (!first.current && document.activeElement === document.body)
      content.current?.focus({ preventScroll: true });
    first.current = false;
  }, [JSON.stringify(path)]);
  const section = path[0] ?? "machines";
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // Where the sections stand in one line that is longer than the window.
    nav.current
      ?.querySelector('[aria-current="page"]')
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [section]);
  return (
    <div class="con-shell">
      <div class="con-side">
        <nav class="con-nav" aria-label="Console" ref={nav}>
          {SECTIONS.map(({ path, label, icon, with: holds }) => (
            <a
              key={path}
              href={consoleLink([path])}
              aria-current={holds.includes(section) ? "page" : undefined}
            >
              <Icon icon={icon} />
              {label}
            </a>
          ))}
        </nav>
        <Who at={at} />
      </div>
      <div class="con-main">
        <Boundary name="when this was read" of={view}>
          <LiveBar at={at} />
        </Boundary>
        <div class="con-view" ref={content} tabIndex={-1}>
          {children}
        </div>
      </div>
    </div>
  );
}

function Who({ at }: { at: Connection }): JSX.Element {
  const [switching, setSwitching] = useState(false);
  return (
    <section class="con-who" aria-label="Signed in">
      <p class="con-who-tenant" title={at.tenant}>
        {at.tenant}
      </p>
      <p class="con-who-host" title={at.url}>
        {hostOf(at)}
      </p>
      <div class="con-who-actions">
        <Button icon={Users} onClick={() => setSwitching(true)}>
          Switch tenant
        </Button>
        <Button icon={LogOut} onClick={() => void mayForget().then((yes) => yes && signOut())}>
          Sign out
        </Button>
      </div>
      {switching && <SwitchTenant at={at} onClose={() => setSwitching(false)} />}
    </section>
  );
}

/** Whether what is of this tenant may go: what is written, and the fork in the simulator. */
async function mayForget(): Promise<boolean> {
  if (!(await mayLeave())) return false;
  const fork = handover.peek();
  if (fork === undefined) return true;
  return confirm({
    title: "Drop the fork?",
    body: (
      <p>
        The fork of <strong>{fork.name}</strong> in the simulator has this tenant’s data: it goes, with what
        you did in it. To keep it, save its scenario there first.
      </p>
    ),
    action: "Drop the fork",
    danger: true,
  });
}

function SwitchTenant({ at, onClose }: { at: Connection; onClose: () => void }): JSX.Element {
  const [tenant, setTenant] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!(await mayForget())) return;
    setBusy(true);
    try {
      await switchTenant(tenant);
      onClose();
      visit(["machines"]);
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Switch tenant" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <TextField
          label="Other tenant"
          value={tenant}
          onInput={setTenant}
          required
          hint={`At ${at.url}, with the same key`}
        />
        {error !== undefined && <Failure error={error} what="Could not switch" />}
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Switch
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
