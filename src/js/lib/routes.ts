// Made from docs/openapi.json by scripts/openapi-types.ts; do not edit: `node scripts/openapi-types.ts` makes it anew.

/** Routes that honour an Idempotency-Key: the method, and the path as the OpenAPI document writes it. */
export const KEYED_ROUTES: ReadonlySet<string> = new Set([
  "POST /api/machines",
  "PUT /api/machines/{machine_id}",
  "DELETE /api/machines/{machine_id}",
  "POST /api/machines/{machine_id}/entities",
  "DELETE /api/machines/{machine_id}/entities/{entity_id}",
  "POST /api/machines/{machine_id}/entities/{entity_id}/release",
  "POST /api/machines/{machine_id}/entities/{entity_id}/transition",
  "POST /api/machines/{machine_id}/evaluate",
  "POST /api/machines/{machine_id}/evaluate/batch",
  "POST /api/outbox/cancel",
  "POST /api/outbox/redrive",
  "POST /api/outbox/{outbox_id}/cancel",
  "POST /api/outbox/{outbox_id}/redrive",
  "PUT /api/secrets/{name}",
  "DELETE /api/secrets/{name}",
  "DELETE /api/secrets/{name}/previous",
  "POST /api/secrets/{name}/rotate",
  "PUT /api/sources/{source_id}",
  "DELETE /api/sources/{source_id}",
  "POST /api/state/create",
  "POST /api/state/transition",
  "POST /api/subscriptions",
  "PUT /api/subscriptions/{subscription_id}",
  "DELETE /api/subscriptions/{subscription_id}",
]);

/** Routes that take a body and change nothing. */
export const READING_ROUTES: ReadonlySet<string> = new Set([
  "POST /api/machines/validate",
  "POST /api/machines/{machine_id}/entities/{entity_id}/explain",
  "POST /api/sources/{source_id}/try",
  "POST /api/state/get",
]);
