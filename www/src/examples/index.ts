// What the simulator offers to start from.

import { approvalExample } from "./approval.ts";
import { bundleExample } from "./bundle.ts";
import type { Example } from "./example.ts";
import { fulfilmentExample } from "./fulfilment.ts";
import { orderExample } from "./order.ts";
import { subscriptionExample } from "./subscription.ts";

export type { Example } from "./example.ts";

/** The examples; the first is what an empty simulator begins with. */
export const EXAMPLES: readonly Example[] = [
  orderExample,
  fulfilmentExample,
  approvalExample,
  bundleExample,
  subscriptionExample,
];
