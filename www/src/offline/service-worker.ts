// The page without a network. A service worker keeps the files of one build, all of them before it begins to answer, and gives them to
// the pages of that build. Of a newer build the files are kept by a newer worker, which begins when the last page of the older is
// closed: no open page misses a file of its own. It answers for nothing but the page and its files, not for a service beside them.

/** What of a service worker's own scope is used here: the library of types that has it contradicts that of pages. */
interface Scope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: "install" | "activate", hear: (event: Lasting) => void): void;
  addEventListener(type: "fetch", hear: (event: Asked) => void): void;
}

interface Lasting extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface Asked extends Event {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

declare const self: Scope;
// Put in by build/offline.ts, of the build that the worker is of. Paths are relative to the page's folder.
/** Its name. */
declare const BUILD: string;
/** The script that its page loads. */
declare const ENTRY: string;
/** The files that are kept from the beginning. */
declare const FILES: readonly string[];
/** Files that are kept once they were asked for. */
declare const RARE: readonly string[];

/** How long the page waits for the network where it is kept. */
const PATIENCE_MS = 3000;
/** Where names of files change with what is in them. */
const HASHED = "assets/";

const page = self.registration.scope;
/** Other folders of the same host may have a page like this one. */
const ofThisPage = `statewright ${page} `;
const ofThisBuild = ofThisPage + BUILD;
const files = new Set([...FILES, ...RARE].map(located));

function located(path: string): string {
  return new URL(path, page).href;
}

self.addEventListener("install", (event) => event.waitUntil(keepAll()));
self.addEventListener("activate", (event) => event.waitUntil(begin()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  const place = origin + pathname;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") {
    if (place === page || place === located("index.html")) event.respondWith(answeredPage(request));
  } else if (search === "" && files.has(place)) event.respondWith(answeredFile(place, request));
});

async function keepAll(): Promise<void> {
  const cache = await caches.open(ofThisBuild);
  const answer = await asked(page, { cache: "no-cache" });
  // While a host is given a new build, it may have the one's worker and the other's page.
  if (answer.redirected || !(await answer.clone().text()).includes(ENTRY)) {
    throw new Error("the page is of another build than its service worker");
  }
  await cache.put(page, answer);
  // One after the other: whoever looks at the page has work for the network.
  for (const path of FILES) {
    const place = located(path);
    const known = path.startsWith(HASHED) ? await caches.match(place, { ignoreVary: true }) : undefined;
    await cache.put(
      place,
      known ?? (await asked(place, path.startsWith(HASHED) ? {} : { cache: "no-cache" })),
    );
  }
}

async function asked(place: string, how: RequestInit): Promise<Response> {
  const answer = await fetch(place, how);
  if (!answer.ok) throw new Error(`${place} was answered with ${answer.status}`);
  return answer;
}

async function begin(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(ofThisPage) && name !== ofThisBuild) await caches.delete(name);
  }
  await self.clients.claim();
}

/** The page from the network, where there is one; it is that of the newest build. */
async function answeredPage(request: Request): Promise<Response> {
  const cache = await caches.open(ofThisBuild);
  const kept = await cache.match(page, { ignoreVary: true });
  if (kept === undefined) return fetch(request);
  const late = new Promise<Response>((give) => setTimeout(() => give(kept), PATIENCE_MS));
  const answer = fetch(request).then(
    (fresh) => (fresh.status >= 500 ? kept : fresh),
    () => kept,
  );
  return Promise.race([answer, late]);
}

/** A file as it is kept; it is the same for ever. */
async function answeredFile(place: string, request: Request): Promise<Response> {
  const cache = await caches.open(ofThisBuild);
  const kept = await cache.match(place, { ignoreVary: true });
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  if (answer.ok && answer.type === "basic") await cache.put(place, answer.clone());
  return answer;
}

export {};
