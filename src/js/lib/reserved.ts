// Names that the core gives to what a definition leaves without one.

/** The region of a flat machine. */
export const FLAT_REGION = "_";
/** The event of a transition that time takes. */
export const TIMEOUT_EVENT = "$timeout";
