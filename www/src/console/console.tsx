import "./console.css";

import type { ComponentType, JSX } from "preact";
import { useEffect } from "preact/hooks";

import { Lazy } from "../parts/lazy.tsx";
import { place } from "./place.ts";
import { connection } from "./service.ts";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";

/** A view of the console: what it is called, what it is of, and how its code is loaded. */
interface View {
  readonly name: string;
  /** Another key is another view: nothing of the one before is kept. */
  readonly key: string;
  readonly load: () => Promise<ComponentType>;
}

function viewOf(path: readonly string[]): View {
  const [section = "machines", first, second] = path;
  const key = JSON.stringify([section, first]);
  switch (section) {
    case "machines":
      if (first === undefined) {
        return {
          name: "Machines",
          key,
          load: () => import("./machines/machines.tsx").then((of) => of.MachinesView),
        };
      }
      return {
        name: first,
        key,
        load: () => import("./machines/machine.tsx").then((of) => () => <of.MachineView machine={first} />),
      };
    case "register":
      return {
        name: "Register a machine",
        key,
        load: () => import("./machines/register.tsx").then((of) => of.RegisterView),
      };
    case "entity":
      if (first === undefined || second === undefined) break;
      return {
        name: second,
        key: JSON.stringify([section, first, second]),
        load: () =>
          import("./entity/entity.tsx").then((of) => () => <of.EntityView machine={first} entity={second} />),
      };
    case "outbox":
      return { name: "Outbox", key, load: () => import("./outbox/outbox.tsx").then((of) => of.OutboxView) };
    case "scheduler":
      return {
        name: "Scheduler",
        key,
        load: () => import("./scheduler/scheduler.tsx").then((of) => of.SchedulerView),
      };
    case "sources":
      return {
        name: "Sources",
        key,
        load: () => import("./sources/sources.tsx").then((of) => of.SourcesView),
      };
    case "look-up":
      return {
        name: "Look up",
        key: section,
        load: () => import("./shell-look-up.tsx").then((of) => of.LookUpView),
      };
  }
  return { name: "Nothing here", key: "nothing", load: () => Promise.resolve(Nowhere) };
}

function Nowhere(): JSX.Element {
  return (
    <div class="stack">
      <h1>Nothing here</h1>
      <p>This address names no view of the console.</p>
    </div>
  );
}

/** The operations console: signing in, and then the view that the address names. */
export function Console(): JSX.Element {
  const at = connection.value;
  const view = viewOf(place.value.path);
  const name = at === undefined ? "Sign in" : view.name;
  useEffect(() => {
    document.title = `${name} · Statewright console`;
    return () => {
      document.title = "Statewright";
    };
  }, [name]);
  if (at === undefined) return <SignIn />;
  return (
    <Shell at={at} view={view.key}>
      <Lazy key={JSON.stringify([at.url, at.tenant, view.key])} load={view.load} name={view.name} />
    </Shell>
  );
}
