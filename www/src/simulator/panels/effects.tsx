import { Copy } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SimulatedEffect, SimulatedRow } from "statewright";

import { Button, IconButton } from "../../parts/button.tsx";
import { Json } from "../../parts/json.tsx";
import { moment } from "../../parts/time.tsx";
import { copyJson } from "../../parts/clipboard.ts";
import type { Model } from "../model.ts";
import { effectView, statusWords } from "./effect-words.ts";
import { short } from "./short.ts";

/** How many effects are drawn at first. */
const SHOWN = 50;

const STATUS = new Map([
  ["accepted", "badge badge-good"],
  ["failed", "badge badge-warn"],
  ["dead", "badge badge-bad"],
]);

/** What commits called for. Nothing of it leaves the simulation. */
export function EffectsPanel({ model }: { model: Model }): JSX.Element {
  const view = model.view.value;
  const [more, setMore] = useState(0);
  const effects = view?.effects ?? [];
  if (view === undefined || effects.length === 0) {
    return <p class="empty">No effect so far. What a service would send is listed here, and never sent.</p>;
  }
  const rows = new Map(view.steps.flatMap((step) => step.rows.map((row) => [row.id, row] as const)));
  const drawn = effects.slice(-SHOWN - more);
  const waiting = effects.some(({ effect, status }) => effect.kind === "transition" && status === "pending");
  return (
    <div class="stack">
      <div class="sim-panel-bar">
        <Button icon={Copy} onClick={() => void copyJson(effects, "The effects are")}>
          Copy all as JSON
        </Button>
        {waiting && (
          <Button
            onClick={() => model.act((session) => session.deliver())}
            title="Events to other entities of this simulation"
          >
            Deliver what waits
          </Button>
        )}
        <span class="muted">Nothing is sent from here.</span>
      </div>
      {effects.length > drawn.length && (
        <div>
          <Button onClick={() => setMore(more + SHOWN)}>
            Show {Math.min(SHOWN, effects.length - drawn.length)} earlier ones
          </Button>
        </div>
      )}
      <ul class="sim-effects" aria-label="Effects">
        {drawn.map((effect) => (
          <EffectItem key={effect.id} effect={effect} row={rows.get(effect.source.row)} />
        ))}
      </ul>
    </div>
  );
}

function EffectItem({
  effect,
  row,
}: {
  effect: SimulatedEffect;
  row: SimulatedRow | undefined;
}): JSX.Element {
  const { kind, destination, headers, body, signed } = effectView(effect);
  return (
    <li class="sim-effect">
      <details>
        <summary>
          <span class="badge">{kind}</span>
          <span class="sim-effect-to" title={short(destination, 1000)}>
            {short(destination)}
          </span>
          <span class={STATUS.get(effect.status) ?? "badge"}>{short(statusWords(effect), 200)}</span>
        </summary>
        <dl class="sim-facts">
          <dt>Effect id</dt>
          <dd>
            <code>{short(effect.effect_id, 500)}</code>
          </dd>
          <dt>Called for by</dt>
          <dd>
            {short(effect.source.machine_id, 60)} {short(effect.source.entity_id)}
            {row !== undefined && (
              <>
                {": "}
                {short(row.from_state, 60)} → {short(row.to_state, 60)}
              </>
            )}
            , at {moment(effect.created_at)}
          </dd>
          {headers.map(([name, value]) => (
            <Fact key={name} name={short(name, 100)} value={short(value, 500)} />
          ))}
          {signed && (
            <>
              <dt>Signature</dt>
              <dd>with the secret webhook-signing, where the tenant has one</dd>
            </>
          )}
        </dl>
        {body !== undefined && (
          <Json value={body} label={`${kind === "webhook" ? "Body" : "Params"} of effect ${effect.id}`} />
        )}
      </details>
      <IconButton icon={Copy} label="Copy as JSON" onClick={() => void copyJson(effect, "The effect is")} />
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
      </dd>
    </>
  );
}
