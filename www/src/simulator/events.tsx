import type { JSX } from "preact";

import { Button } from "../parts/button.tsx";
import type { Model } from "./model.ts";

/** What can happen now. */
export function EventsPane({ model }: { model: Model }): JSX.Element {
  const events = model.view.value?.events ?? [];
  const subject = model.subject.value;
  return (
    <section aria-label="What can happen now">
      {subject !== undefined &&
        events.map(({ event_type, label, target }) => (
          <Button
            key={label}
            onClick={() =>
              model.act((session) =>
                session.send(subject.machine_id, subject.entity_id, { type: event_type, ...(target && { target }) }),
              )
            }
          >
            {event_type}: {label}
          </Button>
        ))}
    </section>
  );
}
