import { X } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { ANY, type Filters } from "./filters.ts";
import { agesWith, ageText, ageValue } from "./words.ts";

/** A pause in typing after which the list is asked for, in milliseconds. */
const PAUSE = 400;

export interface OutboxFiltersProps {
  readonly filters: Filters;
  readonly onChange: (filters: Filters) => void;
}

/** Search by machine, entity and age. */
export function OutboxFilters({ filters, onChange }: OutboxFiltersProps): JSX.Element {
  const { machine, entity, age, status } = filters;
  const [typed, setTyped] = useState({ machine, entity });
  useEffect(() => setTyped({ machine, entity }), [machine, entity]);
  useEffect(() => {
    if (typed.machine === machine && typed.entity === entity) return;
    const timer = setTimeout(() => onChange({ ...filters, ...typed }), PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  const ages = agesWith(age);
  const filtered = status !== undefined || machine !== "" || entity !== "" || age !== undefined;
  return (
    <div class="con-filters" role="search" aria-label="Effects">
      <TextField
        label="Machine"
        type="search"
        value={typed.machine}
        onInput={(to) => setTyped({ ...typed, machine: to })}
        placeholder="The whole id"
      />
      <TextField
        label="Entity"
        type="search"
        value={typed.entity}
        onInput={(to) => setTyped({ ...typed, entity: to })}
        placeholder="The whole id"
      />
      <SelectField
        label="Made"
        value={ageValue(age)}
        options={[
          { value: "", label: "At any time" },
          ...ages.map((each) => ({ value: ageValue(each), label: capital(ageText(each)) })),
        ]}
        onSelect={(to) => onChange({ ...filters, age: ages.find((each) => ageValue(each) === to) })}
      />
      {filtered && (
        <Button icon={X} onClick={() => onChange(ANY)}>
          Clear
        </Button>
      )}
    </div>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
