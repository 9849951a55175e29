// What the core gives definitions: names that it takes for itself, and how deep children may lie.

/** The region of a flat machine. */
export const FLAT_REGION = "_";
/** The event of a transition that time takes. */
export const TIMEOUT_EVENT = "$timeout";
/** How many levels below their root managed children may lie. */
export const DEEPEST_CHILD = 8;
