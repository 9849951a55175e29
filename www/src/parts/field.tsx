import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: "text" | "password" | "number" | "search" | "url" | "datetime-local";
  readonly placeholder?: string;
  /** What is expected, below the field. */
  readonly hint?: ComponentChildren;
  /** What is wrong with it, below the field. */
  readonly problem?: string | undefined;
  readonly required?: boolean;
  readonly autoComplete?: string;
}

/** A line of text with its label. */
export function TextField(props: FieldProps): JSX.Element {
  const { label, value, onInput, type = "text", placeholder, hint, problem, required, autoComplete } = props;
  const id = useId();
  const described = problem !== undefined || hint !== undefined ? `${id}-more` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // The types of JSX tell each type apart; here it is any of them.
        type={type as "text"}
        value={value}
        placeholder={placeholder}
        required={required}
        autoComplete={autoComplete ?? "off"}
        spellcheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={described}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {described !== undefined && (
        <p id={described} class={problem === undefined ? "field-hint" : "field-problem"}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onSelect: (value: string) => void;
}

/** A choice of some. */
export function SelectField({ label, value, options, onSelect }: SelectProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onSelect(currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

export interface CheckProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** A yes or no. */
export function CheckField({ label, checked, onChange }: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
