import "./sources.css";

import { Copy, Pencil, Trash2 } from "lucide";
import type { Source } from "statewright/client";
import type { JSX } from "preact";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Json } from "../../parts/json.tsx";
import { tell } from "../../parts/overlays.tsx";
import { Table } from "../../parts/table.tsx";
import { moment } from "../../parts/time.tsx";
import { Ago } from "../ago.tsx";
import { apiPath } from "../curl.ts";
import { useActing } from "../entity/acting.ts";
import { Fact } from "../fact.tsx";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { lazyView } from "../lazy-view.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { consoleLink, place } from "../place.ts";
import { client, connection } from "../service.ts";
import { definitionOf, totalOf } from "./definition.ts";
import { Takes } from "./takes.tsx";

const TryBody = lazyView("the editor", () => import("./try-body.tsx").then((of) => of.TryBody));
const PutSource = lazyView("the editor", () => import("./put-source.tsx").then((of) => of.PutSource));

/** One source: its address, what came, what it makes of a request, and its definition. */
export function SourceView({ id }: { id: string }): JSX.Element {
  const live = useLive((signal) => client().sources.get(id, { signal }), [id]);
  const { value } = live;
  if (value !== undefined && place.value.path[2] === "edit") return <PutSource before={value} />;
  return (
    <div class="stack">
      <nav class="con-crumbs" aria-label="Where this is">
        <a href={consoleLink(["sources"])}>All sources</a>
      </nav>
      {value === undefined ? <h1 class="con-title">{id}</h1> : <Head source={value} now={live.at} />}
      <LiveFailure live={live} what="the source" />
      {value !== undefined && (
        <div class="con-source-sides">
          <TryBody source={value} />
          <div class="stack">
            <Came counts={value.counts} />
            <section class="stack">
              <h2>Definition</h2>
              <Json value={definitionOf(value)} label="Definition" />
            </section>
          </div>
        </div>
      )}
    </div>
  );
}

function Head({ source, now }: { source: Source; now: number | undefined }): JSX.Element {
  const { id, machine, scheme, secret } = source;
  const { busy, error, run } = useActing();
  const remove = () =>
    run(async ({ client, ask, visit }) => {
      const yes = await ask({
        title: "Delete this source?",
        body: (
          <>
            <p>
              <strong>{id}</strong> goes, with its counts: {cameText(totalOf(source.counts))}. What its
              provider sends from then on is answered 401, and is lost unless the provider keeps it.
            </p>
            <p>The machine, its entities, the secret and the receipts of what came stay.</p>
          </>
        ),
        action: "Delete the source",
        danger: true,
      });
      if (!yes) return;
      await client.sources.delete(id);
      tell(`${id} is deleted`);
      visit(["sources"]);
    });
  return (
    <>
      <div class="con-head">
        <h1 class="con-title" title={id}>
          {id}
        </h1>
        <div class="con-actions">
          <CopyCurl request={() => ({ method: "GET", path: apiPath("sources", id) })} />
          <a class="button con-link-button" href={consoleLink(["sources", id, "edit"])}>
            <Icon icon={Pencil} />
            <span>Edit</span>
          </a>
          <Button icon={Trash2} kind="danger" busy={busy} onClick={remove}>
            Delete
          </Button>
        </div>
      </div>
      {error !== undefined && <Failure error={error} what="Could not delete the source" />}
      <dl class="con-facts">
        <Fact name="Takes">
          <Takes source={source} />
        </Fact>
        <Fact name="Machine">
          <a href={consoleLink(["machines", machine])}>{machine}</a>
        </Fact>
        <Fact name="Scheme">
          <code>{scheme.type}</code>
        </Fact>
        <Fact name="Secret">
          <code>{secret}</code>
        </Fact>
        <Fact name="Missing entities">{source["create"] === false ? "are refused" : "are made"}</Fact>
        <Fact name="Changed">
          <Ago at={source.updated_at} now={now} />
        </Fact>
        <Fact name="Made">{moment(Math.floor(source.created_at / 1000) * 1000)}</Fact>
      </dl>
      <Address id={id} />
    </>
  );
}

function cameText(count: number): string {
  return count === 1 ? "1 request came" : `${count.toLocaleString("en")} requests came`;
}

/** Where the provider sends to. */
function Address({ id }: { id: string }): JSX.Element | null {
  const at = connection.value;
  if (at === undefined) return null;
  const url = `${at.url.replace(/\/+$/, "")}/hooks/${encodeURIComponent(at.tenant)}/${encodeURIComponent(id)}`;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url);
      tell("The address is copied");
    } catch {
      // Pages that came without TLS have no clipboard, and users can forbid it.
      tell("The browser does not let the page copy: select the address instead");
    }
  };
  return (
    <div class="card con-source-address" role="group" aria-label="Address for the provider">
      <span class="muted">The provider sends to</span>
      <code>{url}</code>
      <Button icon={Copy} onClick={() => void copy()}>
        Copy the address
      </Button>
    </div>
  );
}

const OUTCOMES = [
  ["applied", "moved their entity"],
  ["duplicate", "had come before"],
  ["no_transition", "moved nothing in the state that they met"],
  ["refused", "were refused for good"],
  ["unmapped", "were no event for the mapping"],
  ["bad_signature", "were not signed as they must be"],
  ["handshake", "set the source up at its provider"],
] as const;

/** What became of what came. */
function Came({ counts }: { counts: Source["counts"] }): JSX.Element {
  return (
    <section class="stack">
      <h2>What came</h2>
      {counts.bad_signature > 0 && (
        <div class="notice notice-warn">
          <p>
            Some were not signed as they must be: the provider has another secret, or a proxy changes bodies.
            Try the headers and the body of a delivery to see which.
          </p>
        </div>
      )}
      <Table
        caption="What came"
        rows={OUTCOMES}
        keyOf={([outcome]) => outcome}
        empty=""
        columns={[
          { head: "Outcome", cell: ([outcome]) => <code class="con-whole">{outcome}</code> },
          { head: "Requests", align: "end", cell: ([outcome]) => counts[outcome].toLocaleString("en") },
          { head: "They", cell: ([, meaning]) => <span class="muted">{meaning}</span> },
        ]}
      />
    </section>
  );
}
