import type { JSX } from "preact";
import type { JsonDefinition, RegionEntry, SimulatedEntity } from "statewright";

import { delayOf, durationText, guardText } from "../../diagram/guard.ts";
import { Table } from "../../parts/table.tsx";
import { moment, span } from "../../parts/time.tsx";
import type { Model } from "../model.ts";
import { EntityName } from "./entity-name.tsx";
import { livingBelow, nameOf } from "./forest.ts";
import { short } from "./short.ts";

/** The current entries of the entity that is looked at and of what lives below it, with their timers. */
export function EntriesPanel({ model }: { model: Model }): JSX.Element {
  const view = model.view.value;
  if (view?.tree === undefined) return <p class="empty">There is no entity.</p>;
  const living = livingBelow(view);
  const flat = living.every(({ region_entries }) =>
    Object.keys(region_entries).every((region) => region === "_"),
  );
  return (
    <div class={flat ? "stack sim-entries" : "stack sim-entries sim-entries-regions"}>
      {living.map((entity) => (
        <Entries
          key={nameOf(entity)}
          entity={entity}
          definition={model.definitions.value.find(({ machine_id }) => machine_id === entity.machine_id)}
          now={view.now}
          flat={flat}
          model={model}
        />
      ))}
    </div>
  );
}

interface EntriesProps {
  readonly entity: SimulatedEntity;
  readonly definition: JsonDefinition | undefined;
  readonly now: number;
  /** Whether no entity that is shown has regions. */
  readonly flat: boolean;
  readonly model: Model;
}

function Entries({ entity, definition, now, flat, model }: EntriesProps): JSX.Element {
  const entries = Object.entries(entity.region_entries);
  return (
    <section>
      <div class="sim-entity-head">
        <h3>
          <EntityName model={model} entity={entity} />
        </h3>
        <span class="muted">version {entity.state_version}</span>
      </div>
      <Table
        caption={`Entries of ${short(entity.entity_id)}`}
        rows={entries}
        keyOf={([region]) => region}
        empty="It has no region."
        columns={[
          ...(flat
            ? []
            : [
                {
                  head: "Region",
                  cell: ([region]: (typeof entries)[number]) => (region === "_" ? "–" : short(region, 60)),
                },
              ]),
          { head: "State", cell: ([, entry]) => <b>{short(entry.state, 60)}</b> },
          {
            head: "Timer",
            cell: ([region, entry]) => (
              <Timers entry={entry} now={now} rules={rulesOf(definition, region, entry.state)} />
            ),
          },
          { head: "Since", cell: ([, entry]) => <Since entry={entry} now={now} /> },
          { head: "Entry", cell: ([, entry]) => entry.seq, align: "end" },
        ]}
      />
    </section>
  );
}

function Since({ entry, now }: { entry: RegionEntry; now: number }): JSX.Element {
  return (
    <>
      {moment(entry.entered_at)}{" "}
      <span class="muted">{now > entry.entered_at ? `${span(now - entry.entered_at)} ago` : "just now"}</span>
    </>
  );
}

interface TimersProps {
  readonly entry: RegionEntry;
  readonly now: number;
  readonly rules: readonly string[];
}

function Timers({ entry, now, rules }: TimersProps): JSX.Element {
  const { due_at, parked } = entry;
  return (
    <div class="sim-timer">
      {due_at === undefined ? (
        <span class="muted">{rules.length === 0 ? "none" : "none is armed"}</span>
      ) : (
        <span>
          <b class="sim-timer-left">
            {due_at > now ? `in ${span(due_at - now)}` : `overdue by ${span(now - due_at)}`}
          </b>{" "}
          <span class="muted">at {moment(due_at)}</span>
        </span>
      )}
      {parked !== undefined && (
        <span class="sim-timer-parked">
          <span class="badge badge-bad">parked</span> {short(parked, 300)}
        </span>
      )}
      {rules.map((rule) => (
        <span key={rule} class="muted" title={short(rule, 500)}>
          {short(rule)}
        </span>
      ))}
    </div>
  );
}

/** The timeouts that the definition has for a state, in words. */
function rulesOf(definition: JsonDefinition | undefined, region: string, state: string): readonly string[] {
  const rules = definition?.transitions.filter(
    (transition) =>
      transition.on === "$timeout" && transition.from === state && (transition.region ?? "_") === region,
  );
  return (rules ?? []).map(({ guard, to, description }) => {
    const delay = delayOf(guard);
    const condition = guardText(guard);
    return [
      `after ${delay === undefined ? "a delay" : durationText(delay)}`,
      condition === undefined ? "" : ` if ${condition}`,
      ` → ${to}`,
      description == null ? "" : `: ${description}`,
    ].join("");
  });
}
