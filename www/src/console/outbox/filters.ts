// Which effects are listed, as the fragment of the page says it and as the service is asked. Pure.

/** What can have become of an effect, in the order in which an operator cares. */
export const STATUSES = ["pending", "dead", "cancelled", "skipped", "done"] as const;

export type Status = (typeof STATUSES)[number];

/** Which effects are listed. An empty text is no filter. */
export interface Filters {
  readonly status: Status | undefined;
  readonly machine: string;
  readonly entity: string;
  /** By the time when they were made. */
  readonly age: Age | undefined;
}

/** Made within the last seconds, or before them. */
export interface Age {
  readonly is: "newer" | "older";
  readonly seconds: number;
}

/** What any effect fits. */
export const ANY: Filters = { status: undefined, machine: "", entity: "", age: undefined };

/** The filters of a fragment. What cannot be read is no filter. */
export function readFilters(from: URLSearchParams): Filters {
  return {
    status: STATUSES.find((status) => status === from.get("status")),
    machine: from.get("machine") ?? "",
    entity: from.get("entity") ?? "",
    age: ageOf("newer", from.get("newer")) ?? ageOf("older", from.get("older")),
  };
}

function ageOf(is: Age["is"], text: string | null): Age | undefined {
  const seconds = Number(text ?? "");
  return Number.isSafeInteger(seconds) && seconds > 0 ? { is, seconds } : undefined;
}

/** The filters for a fragment. */
export function writeFilters({ status, machine, entity, age }: Filters): URLSearchParams {
  const to = new URLSearchParams();
  if (status !== undefined) to.set("status", status);
  if (machine !== "") to.set("machine", machine);
  if (entity !== "") to.set("entity", entity);
  if (age !== undefined) to.set(age.is, String(age.seconds));
  return to;
}

/** What the service is asked. */
export interface Asked {
  readonly status?: Status;
  readonly machine?: string;
  readonly entity?: string;
  readonly older_than?: number;
  readonly newer_than?: number;
}

/** The query for filters; ages count from `now`, in milliseconds. */
export function queryOf({ status, machine, entity, age }: Filters, now: number): Asked {
  const at = age === undefined ? 0 : Math.max(0, now - age.seconds * 1000);
  return {
    ...(status === undefined ? {} : { status }),
    ...(machine === "" ? {} : { machine }),
    ...(entity === "" ? {} : { entity }),
    ...(age?.is === "older" ? { older_than: at } : {}),
    ...(age?.is === "newer" ? { newer_than: at } : {}),
  };
}
