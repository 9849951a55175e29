// What the filters of the outbox mean, in words.

import { span } from "../../parts/time.tsx";
import type { Age, Filters } from "./filters.ts";

const SECONDS = [600, 3600, 86_400, 7 * 86_400];

/** An age as a value of a choice; none is the empty one. */
export function ageValue(age: Age | undefined): string {
  return age === undefined ? "" : `${age.is} ${age.seconds}`;
}

/** What an age says of an effect. */
export function ageText({ is, seconds }: Age): string {
  const time = span(seconds * 1000);
  return is === "newer" ? `in the last ${time}` : `more than ${time} ago`;
}

/** The ages to choose from, with the one that a link gave among them. */
export function agesWith(chosen: Age | undefined): readonly Age[] {
  const ages = (["newer", "older"] as const).flatMap((is) =>
    SECONDS.map((seconds): Age => ({ is, seconds })),
  );
  const known = chosen === undefined || ages.some((age) => ageValue(age) === ageValue(chosen));
  return known ? ages : [...ages, chosen];
}

/** A number of effects that was counted up to a bound. */
export function bounded(count: number, more: boolean): string {
  return `${count.toLocaleString("en")}${more ? " or more" : ""}`;
}

/** `1 dead effect`, `10,000 or more pending effects`. */
export function effects(count: number, more: boolean, status: string): string {
  return `${bounded(count, more)} ${status} effect${count === 1 && !more ? "" : "s"}`;
}

/** Whose effects a filter means, as a sentence. */
export function whose({ machine, entity, age }: Filters): string {
  const parts = [
    entity === "" ? "" : `of entity ${entity}`,
    machine === "" ? "" : `of machine ${machine}`,
    age === undefined ? "" : `made ${ageText(age)}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "All of this tenant." : `Those ${parts.join(", ")}.`;
}
