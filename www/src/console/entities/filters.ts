// Which entities are listed, as the fragment of the page says it and as the service is asked. Pure.

/** Which entities are listed. */
export interface Filters {
  /** Whose id starts so. */
  readonly prefix: string;
  /** In this state of this region; a flat machine's region is `_`. */
  readonly place: { readonly region: string; readonly state: string } | undefined;
  /** By the time of the last write. */
  readonly age: Age | undefined;
}

/** Written within the last seconds, or not written for so long. */
export interface Age {
  readonly is: "within" | "idle";
  readonly seconds: number;
}

/** Filters for the entities in a state. */
export function stateFilters(region: string, state: string): URLSearchParams {
  return writeFilters({ prefix: "", place: { region, state }, age: undefined });
}

/** The filters of a fragment. What cannot be read is no filter. */
export function readFilters(from: URLSearchParams): Filters {
  const state = from.get("state");
  const place = state === null ? undefined : { region: from.get("region") ?? "_", state };
  return { prefix: from.get("prefix") ?? "", place, age: ageOf(from, "within") ?? ageOf(from, "idle") };
}

function ageOf(from: URLSearchParams, is: Age["is"]): Age | undefined {
  const seconds = Number(from.get(is) ?? "");
  return Number.isSafeInteger(seconds) && seconds > 0 ? { is, seconds } : undefined;
}

/** The filters for a fragment. */
export function writeFilters({ prefix, place, age }: Filters): URLSearchParams {
  const to = new URLSearchParams();
  if (place !== undefined && place.region !== "_") to.set("region", place.region);
  if (place !== undefined) to.set("state", place.state);
  if (prefix !== "") to.set("prefix", prefix);
  if (age !== undefined) to.set(age.is, String(age.seconds));
  return to;
}

/** What the service is asked. */
export interface Asked {
  readonly prefix?: string;
  readonly region?: string;
  readonly state?: string;
  readonly updated_since?: number;
  readonly updated_before?: number;
}

/** The query for filters; ages count from `now`, in milliseconds. */
export function queryOf({ prefix, place, age }: Filters, now: number): Asked {
  const region = place === undefined || place.region === "_" ? {} : { region: place.region };
  const at = age === undefined ? 0 : Math.max(0, now - age.seconds * 1000);
  return {
    ...(prefix === "" ? {} : { prefix }),
    ...region,
    ...(place === undefined ? {} : { state: place.state }),
    ...(age?.is === "within" ? { updated_since: at } : {}),
    ...(age?.is === "idle" ? { updated_before: at } : {}),
  };
}
