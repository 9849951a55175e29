import "./toolbar.css";

import { BookOpen, FolderOpen, Import, Link, RotateCcw, Save } from "lucide";
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { EXAMPLES } from "../../examples/index.ts";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { confirm, Dialog } from "../../parts/overlays.tsx";
import type { Content, Model } from "../model.ts";
import { contentOfFiles, useDrop } from "./files.ts";
import { Menu } from "./menu.tsx";
import { noteLoaded, replaceWith, startOver } from "./replace.ts";
import { SaveDialog } from "./save-dialog.tsx";
import { ShareDialog } from "./share-dialog.tsx";
import { XStateDialog } from "./xstate-dialog.tsx";

/** What comes in and goes out: examples, imports, links and files. */
export function Toolbar({ model }: { model: Model }): JSX.Element {
  const [dialog, setDialog] = useState<"share" | "save" | "xstate">();
  const [failed, setFailed] = useState<{ readonly error: unknown; readonly what: string }>();
  const chooser = useRef<HTMLInputElement>(null);
  const count = model.loaded.value;
  useEffect(() => noteLoaded(model), [model, count]);

  const load = useCallback(
    async (content: Content, what: string) => {
      setFailed(undefined);
      try {
        await replaceWith(model, content, what);
      } catch (error) {
        setFailed({ error, what: `Could not load ${what}` });
      }
    },
    [model],
  );
  const loadFiles = useCallback(
    async (files: readonly File[]) => {
      const what = files.length === 1 ? (files[0]?.name ?? "the file") : `${files.length} files`;
      try {
        await load(await contentOfFiles(files), what);
      } catch (error) {
        setFailed({ error, what: `Could not load ${what}` });
      }
    },
    [load],
  );
  const over = useDrop(loadFiles);
  const close = () => setDialog(undefined);

  return (
    <>
      <div class="sim-toolbar" role="group" aria-label="Load and save">
        <Menu
          label="Examples"
          icon={BookOpen}
          items={EXAMPLES.map(({ id, name, description }) => ({ id, label: name, description }))}
          onSelect={(id) => {
            const example = EXAMPLES.find((one) => one.id === id);
            if (example !== undefined) void load(example, `the example ${example.name}`);
          }}
        />
        <Button icon={Import} title="Import from XState" onClick={() => setDialog("xstate")}>
          Import from XState
        </Button>
        <Button
          icon={FolderOpen}
          title="Load a scenario or definitions from files"
          onClick={() => chooser.current?.click()}
        >
          Load
        </Button>
        <input
          ref={chooser}
          type="file"
          hidden
          multiple
          accept=".json,application/json"
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])];
            // The same file can be chosen again.
            currentTarget.value = "";
            if (files.length > 0) void loadFiles(files);
          }}
        />
        <span class="sim-toolbar-gap" />
        <Button
          icon={Link}
          title="Share as a link"
          onClick={() => void unlessFork(model, () => setDialog("share"))}
        >
          Share link
        </Button>
        <Button
          icon={Save}
          title="Save what was done as a scenario"
          onClick={() => void unlessFork(model, () => setDialog("save"))}
        >
          Save scenario
        </Button>
        <Button
          icon={RotateCcw}
          title="Start over with these definitions"
          onClick={() => void startOver(model)}
        >
          Start over
        </Button>
      </div>
      {failed !== undefined && (
        <Dialog title={failed.what} onClose={() => setFailed(undefined)}>
          <div class="dialog-body">
            <Failure error={failed.error} />
            <p>What was there is as it was.</p>
          </div>
          <div class="dialog-actions">
            <Button kind="primary" onClick={() => setFailed(undefined)}>
              Close
            </Button>
          </div>
        </Dialog>
      )}
      {over && (
        <div class="sim-drop" aria-hidden="true">
          <p>Drop a scenario or definitions to load them</p>
        </div>
      )}
      {dialog === "share" && <ShareDialog model={model} onSave={() => setDialog("save")} onClose={close} />}
      {dialog === "save" && <SaveDialog model={model} onClose={close} />}
      {dialog === "xstate" && (
        <XStateDialog
          onClose={close}
          onImport={(definitions) => {
            close();
            void load({ definitions }, "what was imported");
          }}
        />
      )}
    </>
  );
}

/** Goes on at once, or for a fork of a live entity only when asked: what it holds may be of a person. */
async function unlessFork(model: Model, then: () => void): Promise<void> {
  const fork = model.fork.value;
  const yes =
    fork === undefined ||
    (await confirm({
      title: "Share a live entity?",
      body: `This is a fork of ${fork}: its context and its history go along, as you see them here.`,
      action: "Go on",
    }));
  if (yes) then();
}
