import { X } from "lucide";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Count, JsonDefinition } from "statewright/client";

import { Button } from "../../parts/button.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { stateName } from "../machines/counts.ts";
import { ageOf, ageOptions, ageValue } from "./ages.ts";
import type { Filters } from "./filters.ts";

/** A pause in typing after which the list is asked for, in milliseconds. */
const PAUSE = 300;

interface EntityFiltersProps {
  readonly machine: JsonDefinition;
  readonly counts: readonly Count[];
  readonly filters: Filters;
  readonly onChange: (filters: Filters) => void;
}

/** Search by id, state and age. */
export function EntityFilters({ machine, counts, filters, onChange }: EntityFiltersProps): JSX.Element {
  const { prefix, place, age } = filters;
  const [typed, setTyped] = useState(prefix);
  const sent = useRef(prefix);
  const send = (to: Filters) => {
    sent.current = to.prefix;
    onChange(to);
  };
  // What is typed counts at once where something else is chosen, and after a pause otherwise.
  const change = (to: Partial<Filters>) => send({ ...filters, prefix: typed, ...to });
  useEffect(() => {
    // Another address, not what was sent from here: that may be older than what is typed by now.
    if (prefix !== sent.current) setTyped(prefix);
    sent.current = prefix;
  }, [prefix]);
  useEffect(() => {
    if (typed === prefix) return;
    const timer = setTimeout(() => change({}), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, filters]);
  const clear = () => {
    setTyped("");
    send({ prefix: "", place: undefined, age: undefined });
  };
  const states = statesOf(machine, counts, place);
  const parallel = machine.regions !== undefined && machine.regions !== null;
  const filtered = prefix !== "" || place !== undefined || age !== undefined;
  return (
    <div class="con-filters" role="search" aria-label="Entities">
      <TextField label="Id starts with" type="search" value={typed} onInput={setTyped} />
      <SelectField
        label={parallel ? "Region and state" : "State"}
        value={place === undefined ? "" : placeValue(place)}
        options={[
          { value: "", label: "Any state" },
          ...states.map((at) => ({ value: placeValue(at), label: stateName(at) })),
        ]}
        onSelect={(to) => change({ place: states.find((at) => placeValue(at) === to) })}
      />
      <SelectField
        label="Age"
        value={ageValue(age)}
        options={ageOptions(age)}
        onSelect={(to) => change({ age: ageOf(to) })}
      />
      {filtered && (
        <Button icon={X} onClick={clear}>
          Clear
        </Button>
      )}
    </div>
  );
}

interface Place {
  readonly region: string;
  readonly state: string;
}

function placeValue({ region, state }: Place): string {
  return JSON.stringify([region, state]);
}

/** The states of the newest revision, those that entities of older ones are in, and the one that a link names. */
function statesOf(machine: JsonDefinition, counts: readonly Count[], chosen: Place | undefined): Place[] {
  const flat = (machine.states ?? []).map((state): Place => ({ region: "_", state }));
  const parallel = (machine.regions ?? []).flatMap(({ id, states }) => {
    return states.map((state): Place => ({ region: id, state }));
  });
  const all = [...flat, ...parallel, ...counts, ...(chosen === undefined ? [] : [chosen])];
  const places = new Map(all.map(({ region, state }) => [placeValue({ region, state }), { region, state }]));
  return [...places.values()];
}
