import { Terminal } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { Dialog, tell } from "../../parts/overlays.tsx";
import { curl, type CurlRequest } from "../curl.ts";
import { connection } from "../service.ts";

interface CopyCurlProps {
  /** What is asked, made when the button is used. */
  readonly request: () => Omit<CurlRequest, "connection">;
  /** What it is of, where several stand beside each other: `Copy send as curl`. */
  readonly of?: string;
}

/** Copies a request of the view as a command; where the browser does not let it, the command is shown. */
export function CopyCurl({ request, of }: CopyCurlProps): JSX.Element {
  const [shown, setShown] = useState<string>();
  const copy = async () => {
    const at = connection.peek();
    if (at === undefined) return;
    const command = curl({ ...request(), connection: at });
    if (await copied(command)) tell("Copied. The command reads the key from STATEWRIGHT_KEY");
    else setShown(command);
  };
  return (
    <>
      <Button icon={Terminal} onClick={() => void copy()}>
        {of === undefined ? "Copy as curl" : `Copy ${of} as curl`}
      </Button>
      {shown !== undefined && (
        <Dialog title="The request as curl" onClose={() => setShown(undefined)} wide>
          <pre class="json" tabIndex={0} aria-label="Command" role="region">
            {shown}
          </pre>
          <div class="dialog-actions">
            <Button onClick={() => setShown(undefined)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
