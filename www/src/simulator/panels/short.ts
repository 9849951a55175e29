// Texts from definitions and events, cut to what a line holds.

/** A text that is cut where it is longer than that. */
export function short(text: string, most = 120): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** JSON in one line, cut. */
export function shortJson(value: unknown, most = 120): string {
  return short(JSON.stringify(value) ?? "nothing", most);
}

/** A state, or of a parallel machine the states of its regions. */
export function stateText(state: unknown): string {
  if (typeof state === "string") return state;
  if (typeof state !== "object" || state === null) return String(state);
  return Object.entries(state)
    .map(([region, of]) => `${region}: ${String(of)}`)
    .join(", ");
}
