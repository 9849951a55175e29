import { FlaskConical, HelpCircle } from "lucide";
import type { JsonDefinition } from "statewright";
import type { Entity } from "statewright/client";
import type { JSX } from "preact";
import { useId, useMemo, useState } from "preact/hooks";

import { Button } from "../../../parts/button.tsx";
import { CheckField, SelectField, TextField } from "../../../parts/field.tsx";
import { Rounded } from "../../../parts/rounded.tsx";
import { BLANK, fieldsOf, paramsOf, type Typed } from "../../../simulator/params-fields.ts";
import { ParamsForm } from "../../../simulator/params-form.tsx";
import { withinTree } from "../../fork/definitions.ts";
import type { Subject } from "../subject.ts";
import { pathText } from "../words.ts";
import { type Choice, type EventRequest, placesOf, versionAt, wholeOf } from "./draft.ts";
import { EventChoice, OTHER } from "./event-choice.tsx";

interface EventFormProps {
  readonly subject: Subject;
  readonly tree: Entity;
  readonly definitions: readonly JsonDefinition[];
  /** Undefined where they could not be read. */
  readonly choices: readonly Choice[] | undefined;
  /** Whether what stands in the form was asked about. */
  readonly asked: boolean;
  /** Asks what the request would do; `dry` runs it as well, and writes nothing. */
  readonly onAsk: (request: EventRequest, dry: boolean) => void;
  /** What was asked is not what stands in the form any more. */
  readonly onEdit: () => void;
}

/** An event, where it goes, its params, and the version that it is meant for. */
export function EventForm(props: EventFormProps): JSX.Element {
  const { subject, tree, definitions, choices, asked, onAsk, onEdit } = props;
  const [chosen, setChosen] = useState<string>();
  const [type, setType] = useState("");
  const [placeKey, setPlaceKey] = useState<string>();
  const [typed, setTyped] = useState<Typed>(BLANK);
  const [versioned, setVersioned] = useState(true);
  const [versionText, setVersionText] = useState<string>();
  const [timestamp, setTimestamp] = useState("");
  const otherId = useId();

  const edited = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      set(value);
      onEdit();
    };
  };
  const choice = choices?.find(({ key }) => key === chosen);
  const places = useMemo(() => placesOf(tree), [tree]);
  const place = places.find(({ key }) => key === placeKey) ?? places[0];
  const byHand = chosen === OTHER || choices === undefined || choices.length === 0;
  const of = byHand ? place?.of : choice?.of;
  const address = byHand ? place?.address : choice?.address;
  const event_type = byHand ? type.trim() : choice?.event_type;

  const guards = useMemo(() => {
    const definition = definitions.find(({ machine_id }) => machine_id === of?.machine);
    return (definition?.transitions ?? []).filter(({ on }) => on === event_type).map(({ guard }) => guard);
  }, [definitions, of?.machine, event_type]);
  const fields = useMemo(() => fieldsOf(guards), [guards]);
  const { params, problems } = paramsOf(fields, typed);
  const taker = [...withinTree(tree)].find(
    ({ machine_id, entity_id }) => machine_id === of?.machine && entity_id === of.entity,
  );
  const seen = address === undefined ? undefined : versionAt(tree, address);
  const version = versionText ?? (seen === undefined ? "" : String(seen));
  const versionWrong = versioned && version !== "" && wholeOf(version) === undefined;
  const timeWrong = timestamp !== "" && wholeOf(timestamp) === undefined;
  const ready =
    event_type !== undefined && event_type !== "" && problems.size === 0 && !versionWrong && !timeWrong;

  const ask = (dry: boolean): void => {
    if (!ready || address === undefined) return;
    const { to, target } = address;
    const expected = versioned ? wholeOf(version) : undefined;
    const at = wholeOf(timestamp);
    const body = {
      event_type,
      ...(Object.keys(params).length === 0 ? {} : { params: { ...params } }),
      ...(target === undefined ? {} : { target: [...target] }),
      ...(expected === undefined ? {} : { expected_version: expected }),
      ...(at === undefined ? {} : { timestamp: at }),
    };
    onAsk({ to, body }, dry);
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        ask(true);
      }}
    >
      <EventChoice
        subject={subject}
        choices={choices}
        chosen={byHand ? OTHER : chosen}
        onChoose={edited((key: string) => {
          setChosen(key);
          setTyped(BLANK);
          setVersionText(undefined);
        })}
      />
      {byHand && (
        <>
          <TextField label="Event type" value={type} onInput={edited(setType)} />
          {places.length > 1 && (
            <SelectField
              label="For"
              value={place?.key ?? ""}
              options={places.map(({ key, of: { machine, entity }, address: { target = [] } }) => ({
                value: key,
                label:
                  target.length === 0
                    ? `the entity itself (${machine})`
                    : `${pathText(target)} (${machine} ${entity})`,
              }))}
              onSelect={edited(setPlaceKey)}
            />
          )}
        </>
      )}
      {(byHand || choice !== undefined) && (
        <>
          <ParamsForm
            fields={fields}
            typed={typed}
            onTyped={edited(setTyped)}
            problems={problems}
            context={new Map(Object.entries(taker?.context ?? {}))}
            onEnter={() => undefined}
          />
          <Rounded value={guards} />
          <div class="field">
            <label for={otherId}>{fields.length === 0 ? "Params (JSON)" : "Other params (JSON)"}</label>
            <textarea
              id={otherId}
              rows={2}
              spellcheck={false}
              placeholder="{ }"
              value={typed.other}
              aria-invalid={problems.has(undefined)}
              aria-describedby={problems.has(undefined) ? `${otherId}-problem` : undefined}
              onInput={({ currentTarget }) => edited(setTyped)({ ...typed, other: currentTarget.value })}
            />
            {problems.has(undefined) && (
              <p id={`${otherId}-problem`} class="field-problem">
                {problems.get(undefined)}
              </p>
            )}
          </div>
          <CheckField
            label="Only if it is still at the version seen"
            checked={versioned}
            onChange={edited(setVersioned)}
          />
          <details class="con-send-more">
            <summary>Version and timestamp</summary>
            <div class="stack">
              {versioned && (
                <TextField
                  label="Expected version"
                  type="number"
                  value={version}
                  onInput={edited((text: string) => setVersionText(text))}
                  problem={versionWrong ? "It is no whole number." : undefined}
                  hint={
                    seen === undefined ? "Its version is not known here." : `It was read at version ${seen}.`
                  }
                />
              )}
              <TextField
                label="Timestamp"
                type="number"
                value={timestamp}
                onInput={edited(setTimestamp)}
                problem={timeWrong ? "It is no whole number." : undefined}
                hint="In milliseconds. With the type it says which event it is; left out, it is now."
              />
            </div>
          </details>
          <div class="row">
            <Button type="submit" icon={FlaskConical} kind={asked ? "plain" : "primary"} disabled={!ready}>
              {asked ? "Check again" : "Check what it would do"}
            </Button>
            <Button icon={HelpCircle} disabled={!ready} onClick={() => ask(false)}>
              Explain only
            </Button>
          </div>
        </>
      )}
    </form>
  );
}
