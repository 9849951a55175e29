// The ages that a list of entities can be narrowed to.

import { span } from "../../parts/time.tsx";
import type { Age } from "./filters.ts";

const SECONDS = [600, 3600, 86_400, 7 * 86_400, 30 * 86_400];

function nameOf({ is, seconds }: Age): string {
  const time = span(seconds * 1000);
  return is === "within" ? `Written in the last ${time}` : `Not written for ${time}`;
}

/** An age as a value of a choice; none is the empty one. */
export function ageValue(age: Age | undefined): string {
  return age === undefined ? "" : `${age.is} ${age.seconds}`;
}

/** The choices, with the age that a link gave among them. */
export function ageOptions(chosen: Age | undefined): { readonly value: string; readonly label: string }[] {
  const ages = (["within", "idle"] as const).flatMap((is) =>
    SECONDS.map((seconds): Age => ({ is, seconds })),
  );
  const known = ages.some((age) => ageValue(age) === ageValue(chosen));
  const all = chosen === undefined || known ? ages : [...ages, chosen];
  return [
    { value: "", label: "Any time" },
    ...all.map((age) => ({ value: ageValue(age), label: nameOf(age) })),
  ];
}

/** The age of a choice. */
export function ageOf(value: string): Age | undefined {
  const [is, seconds] = value.split(" ");
  if (is !== "within" && is !== "idle") return undefined;
  return { is, seconds: Number(seconds) };
}
