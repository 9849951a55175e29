import "./machines.css";

import { FlaskConical, Pencil, Trash2 } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Count, Machine } from "statewright/client";

import { Button } from "../../parts/button.tsx";
import { counted } from "../../parts/counted.ts";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import { tell } from "../../parts/overlays.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Ago } from "../ago.tsx";
import { moment } from "../../parts/time.tsx";
import { useActing } from "../entity/acting.ts";
import { Fact } from "../fact.tsx";
import { lazyView } from "../lazy-view.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { consoleLink, place, visit } from "../place.ts";
import { client } from "../service.ts";
import { totalOf } from "./counts.ts";
import { definitionOf } from "./definition-text.ts";
import { DEFAULT_CONTRACT } from "./machines.tsx";
import { openInSimulator } from "./simulate.ts";

const DiagramTab = lazyView("the diagram", () => import("./diagram-tab.tsx").then((of) => of.DiagramTab));
const DefinitionTab = lazyView("the definition", () =>
  import("./definition-tab.tsx").then((of) => of.DefinitionTab),
);
const RevisionsTab = lazyView("the revisions", () =>
  import("./revisions-tab.tsx").then((of) => of.RevisionsTab),
);
const EntitiesTab = lazyView("the entities", () =>
  import("../entities/entities.tsx").then((of) => of.EntitiesTab),
);
const NewRevision = lazyView("the editor", () => import("./new-revision.tsx").then((of) => of.NewRevision));

/** What the tabs of a machine are given. */
export interface TabProps {
  readonly machine: Machine;
  readonly counts: readonly Count[];
  /** Whether the view says already that these are old. */
  readonly stale: boolean;
}

const TABS = [
  { id: "diagram", label: "Diagram", View: DiagramTab },
  { id: "definition", label: "Definition", View: DefinitionTab },
  { id: "revisions", label: "Revisions", View: RevisionsTab },
  { id: "entities", label: "Entities", View: EntitiesTab },
];

/** One machine: its diagram with counts, its definition, its revisions and its entities. */
export function MachineView({ machine: id }: { machine: string }): JSX.Element {
  const live = useLive(
    async (signal) => {
      const [machine, counts] = await Promise.all([
        client().machines.get(id, { signal }),
        client().machines.counts(id, { signal }),
      ]);
      return { machine, counts };
    },
    [id],
  );
  const tab = place.value.path[2] ?? "diagram";
  const { value } = live;
  if (value === undefined) {
    return (
      <div class="stack">
        <Crumbs />
        <h1 class="con-title">{id}</h1>
        <LiveFailure live={live} what="the machine" />
      </div>
    );
  }
  if (tab === "edit") return <NewRevision machine={value.machine} />;
  return (
    <div class="con-page">
      <Crumbs />
      <Head {...value} now={live.at} />
      <LiveFailure live={live} what="the machine" />
      <Tabs
        label={`Of ${id}`}
        selected={tab}
        onSelect={(to) => visit(to === "diagram" ? ["machines", id] : ["machines", id, to])}
        tabs={TABS.map(({ id: name, label, View }) => ({
          id: name,
          label,
          content: () => <View {...value} stale={live.error !== undefined} />,
        }))}
      />
    </div>
  );
}

function Crumbs(): JSX.Element {
  return (
    <nav class="con-crumbs" aria-label="Where this is">
      <a href={consoleLink(["machines"])}>All machines</a>
    </nav>
  );
}

function Head({ machine, counts, now }: Omit<TabProps, "stale"> & { now: number | undefined }): JSX.Element {
  const [failed, setFailed] = useState<{ readonly what: string; readonly error: unknown }>();
  const { machine_id: id, label, revision, contract, created_at, updated_at } = machine;
  const entities = totalOf(counts);
  const deleting = useActing();
  const remove = () =>
    deleting.run(async ({ client, ask, visit }) => {
      const sure = await ask({
        title: "Delete this machine",
        body: (
          <>
            <p>
              <strong>{id}</strong> goes with all its revisions, for good. Subscriptions, sources and other
              machines that name it stay, and then name nothing.
            </p>
            <p>
              {entities === 0
                ? "It has no live entities. While it has others that have ended, the service refuses."
                : `It has ${counted(entities, "entity", "entities")}: the service refuses until ${entities === 1 ? "it is" : "they are"} deleted.`}
            </p>
          </>
        ),
        action: "Delete the machine",
        danger: true,
      });
      if (!sure) return;
      await client.machines.delete(id);
      tell(`${id} is deleted`);
      visit(["machines"]);
    });
  const simulate = async () => {
    try {
      await openInSimulator(definitionOf(machine));
    } catch (error) {
      setFailed({ what: "Could not open it in the simulator", error });
    }
  };
  return (
    <>
      <div class="con-head">
        <h1 class="con-title" title={id}>
          {id}
        </h1>
        <div class="con-actions">
          <Button icon={FlaskConical} onClick={() => void simulate()}>
            Open in simulator
          </Button>
          <a class="button con-link-button" href={consoleLink(["machines", id, "edit"])}>
            <Icon icon={Pencil} />
            <span>New revision</span>
          </a>
          <Button icon={Trash2} kind="danger" onClick={() => void remove()}>
            Delete
          </Button>
        </div>
      </div>
      <dl class="con-facts">
        <Fact name="Revision">{revision}</Fact>
        {typeof label === "string" && <Fact name="Label">{label}</Fact>}
        <Fact name="Contract">{contract ?? DEFAULT_CONTRACT}</Fact>
        <Fact name="Entities">{entities.toLocaleString("en")}</Fact>
        <Fact name="Changed">
          <Ago at={updated_at} now={now} />
        </Fact>
        <Fact name="Made">{moment(Math.floor(created_at / 1000) * 1000)}</Fact>
      </dl>
      {deleting.error !== undefined && <Failure error={deleting.error} what="Could not delete the machine" />}
      {failed !== undefined && <Failure {...failed} />}
    </>
  );
}
