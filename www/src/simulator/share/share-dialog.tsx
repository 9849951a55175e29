import { Copy, Save } from "lucide";
import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";

import { linkTo } from "../../app/route.ts";
import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { Failure } from "../../parts/failure.tsx";
import { Dialog } from "../../parts/overlays.tsx";
import type { Model } from "../model.ts";
import { encode, FITS_EVERYWHERE, MOST_LINK } from "./link.ts";

interface ShareDialogProps {
  readonly model: Model;
  readonly onSave: () => void;
  readonly onClose: () => void;
}

/** A link to what stands: copied at once, and shown with what it weighs. */
export function ShareDialog({ model, onSave, onClose }: ShareDialogProps): JSX.Element {
  const [link, setLink] = useState<string>();
  const [failed, setFailed] = useState<unknown>();
  const [said, setSaid] = useState("");
  const id = useId();
  const copy = async (text: string) => {
    setSaid("");
    setSaid(
      (await copied(text)) ? "The link is copied" : "The browser did not let this page copy: select the link",
    );
  };
  useEffect(() => {
    linkOf(model).then((made) => {
      setLink(made);
      if (made.length <= MOST_LINK) void copy(made);
    }, setFailed);
  }, []);
  const tooLong = link !== undefined && link.length > MOST_LINK;
  return (
    <Dialog title="Share as a link" onClose={onClose}>
      <div class="dialog-body">
        <p>
          The link itself holds the definitions and all that was done, with its params and contexts: nothing
          is stored anywhere, and who has the link can read it.
        </p>
        {model.stale.value && <p>The definition has faults now: the link holds the last one without.</p>}
        {failed !== undefined && <Failure error={failed} what="There is no link" />}
        {link !== undefined && !tooLong && (
          <div class="field">
            <label for={id}>Link</label>
            <input
              id={id}
              type="text"
              readOnly
              value={link}
              aria-describedby={`${id}-length`}
              onFocus={({ currentTarget }) => currentTarget.select()}
            />
          </div>
        )}
        {link !== undefined && (
          <p id={`${id}-length`} class={link.length > FITS_EVERYWHERE ? "notice notice-warn" : "field-hint"}>
            {lengthWords(link.length)}
          </p>
        )}
        <p role="status" class="sim-share-said">
          {said}
        </p>
      </div>
      <div class="dialog-actions">
        <Button onClick={onClose}>Close</Button>
        {tooLong ? (
          <Button kind="primary" icon={Save} onClick={onSave}>
            Save scenario instead
          </Button>
        ) : (
          <Button
            kind="primary"
            icon={Copy}
            disabled={link === undefined}
            onClick={() => link !== undefined && void copy(link)}
          >
            Copy link
          </Button>
        )}
      </div>
    </Dialog>
  );
}

async function linkOf(model: Model): Promise<string> {
  const subject = model.subject.value;
  const payload = await encode({
    definitions: model.definitions.value,
    scenario: model.scenario(),
    ...(subject === undefined ? {} : { subject }),
  });
  return new URL(linkTo("s", payload), location.href).href;
}

function lengthWords(length: number): string {
  const characters = `${length.toLocaleString("en")} characters`;
  if (length > MOST_LINK) return `${characters}: too long for a link. Save the scenario, and share the file.`;
  if (length > FITS_EVERYWHERE)
    return `${characters}: some mail and chat programs cut links as long as this one.`;
  return characters;
}
