import "./params.css";

import type { JSX } from "preact";
import { useId } from "preact/hooks";

import { type GuardField, short, type Typed } from "./params-fields.ts";

export interface ParamsFormProps {
  readonly fields: readonly GuardField[];
  readonly typed: Typed;
  readonly onTyped: (typed: Typed) => void;
  readonly problems: ReadonlyMap<string | undefined, string>;
  /** What a guard finds where a field is left empty. */
  readonly context: ReadonlyMap<string, unknown>;
  /** Sends, on Enter. */
  readonly onEnter: () => void;
}

/** A line for each field that guards read: what is left empty is not sent. */
export function ParamsForm(props: ParamsFormProps): JSX.Element | null {
  const { fields, typed, onTyped, problems, context, onEnter } = props;
  if (fields.length === 0) return null;
  return (
    <div class="sim-params">
      {fields.map((field) => (
        <ParamsField
          key={field.name}
          field={field}
          value={typed.fields.get(field.name) ?? ""}
          problem={problems.get(field.name)}
          found={context.has(field.name) ? short(context.get(field.name), 24) : undefined}
          onInput={(value) => onTyped({ ...typed, fields: new Map(typed.fields).set(field.name, value) })}
          onEnter={onEnter}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly field: GuardField;
  readonly value: string;
  readonly problem: string | undefined;
  /** The context's value, as JSON. */
  readonly found: string | undefined;
  readonly onInput: (value: string) => void;
  readonly onEnter: () => void;
}

function ParamsField({ field, value, problem, found, onInput, onEnter }: FieldProps): JSX.Element {
  const id = useId();
  const { name, kind, hint, suggestions } = field;
  const absent = found === undefined ? "(missing)" : `${found} (context)`;
  return (
    <div class="sim-param">
      <label for={id} title={name}>
        {name}
      </label>
      {kind === "choice" ? (
        <select
          id={id}
          value={value}
          aria-describedby={`${id}-hint`}
          onChange={({ currentTarget }) => onInput(currentTarget.value)}
        >
          <option value="">{absent}</option>
          <option value="true">Yes (true)</option>
          <option value="false">No (false)</option>
        </select>
      ) : (
        <input
          id={id}
          type="text"
          inputMode={kind === "number" ? "decimal" : "text"}
          value={value}
          placeholder={absent}
          autoComplete="off"
          spellcheck={false}
          list={suggestions.length > 0 ? `${id}-list` : undefined}
          aria-invalid={problem !== undefined}
          aria-describedby={`${id}-hint`}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && onEnter()}
        />
      )}
      <span id={`${id}-hint`} class={problem === undefined ? "sim-param-hint" : "field-problem"} title={hint}>
        {problem ?? hint}
      </span>
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </div>
  );
}
