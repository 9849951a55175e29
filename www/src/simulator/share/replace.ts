// Loading over what is there, without losing work unasked.

import { confirm } from "../../parts/overlays.tsx";
import type { Content, Model } from "../model.ts";

/** What stood after a load, and which load that was: as long as it stands, nothing is lost by the next. */
const loaded = new WeakMap<Model, { readonly count: number; readonly text: string }>();

/** Notes what was loaded, whoever loaded it: once a load. */
export function noteLoaded(model: Model): void {
  const count = model.loaded.value;
  if (loaded.get(model)?.count !== count) loaded.set(model, { count, text: standing(model) });
}

/** Whether something was done or written since the last load. */
export function isChanged(model: Model): boolean {
  // Before the first load is noted, the page is not drawn yet: nothing can have been done.
  const noted = loaded.get(model);
  return noted !== undefined && noted.text !== standing(model);
}

function standing(model: Model): string {
  const texts = model.docs.value.map(({ text }) => text);
  const steps = model.view.value?.steps.map(({ op, at, args }) => ({ op, at, args }));
  return JSON.stringify([texts, steps]);
}

/** Loads something; asks first where that would lose what was done. Tells whether it was loaded, and throws what is wrong with it. */
export async function replaceWith(model: Model, content: Content, what: string): Promise<boolean> {
  if (isChanged(model)) {
    const yes = await confirm({
      title: `Load ${what}?`,
      body: "What you wrote and did since the last load is replaced, and cannot be brought back. Save the scenario first to keep it.",
      action: "Load it",
      danger: true,
    });
    if (!yes) return false;
  }
  const prepared = model.prepare(content);
  await new Promise((goOn) => setTimeout(goOn));
  if (!model.load(content, prepared)) {
    const { value } = model.failure;
    model.failure.value = undefined;
    throw value;
  }
  return true;
}

/** Begins again with the entities as they were made first. */
export async function startOver(model: Model): Promise<void> {
  const scenario = model.scenario();
  const first = scenario.steps.findIndex(({ op }) => op !== "create" && op !== "adopt" && op !== "register");
  const steps = first < 0 ? scenario.steps : scenario.steps.slice(0, first);
  const count = model.view.value?.steps.length ?? 0;
  if (count > steps.length) {
    const lost = count - steps.length;
    const yes = await confirm({
      title: "Start over?",
      body: `${lost} ${lost === 1 ? "step is" : "steps are"} forgotten, and cannot be redone. The definitions stay, and so do the entities as they were made.`,
      action: "Start over",
      danger: true,
    });
    if (!yes) return;
  }
  model.load({
    definitions: model.definitions.value,
    ...(steps.length === 0 ? {} : { scenario: { ...scenario, steps } }),
    subject: model.subject.value,
    name: model.name.value,
    fork: model.fork.value !== undefined,
  });
}
