// Lists that come in pages.

import { StatewrightError } from "./errors.ts";

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** What to give as `cursor` for the page after this one; undefined where this is the last. */
  readonly next: string | undefined;
}

/**
 * A list. Awaited, it is its first page; iterated over, all items of all pages, each of which is asked for when it is
 * reached:
 *
 *     const { items, next } = await client.machines.list({ limit: 20 });
 *     for await (const machine of client.machines.list()) …
 *
 * Nothing is asked before either. Rows that come or go meanwhile shift no page.
 */
export class Listing<T, P extends Page<T> = Page<T>> implements Promise<P>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = "Listing";
  readonly #read: (cursor: string | undefined) => Promise<P>;
  #first: Promise<P> | undefined;

  /** @param read asks for the page at a cursor; for the first one without. */
  constructor(read: (cursor: string | undefined) => Promise<P>) {
    this.#read = read;
  }

  /** All pages, each asked for when it is reached. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let page = await this.#start();
    yield page;
    while (page.next !== undefined) {
      const cursor = page.next;
      page = await this.#read(cursor);
      if (page.next === cursor) throw endless();
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  then<A = P, B = never>(
    fulfilled?: ((page: P) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#start().then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<P | B> {
    return this.then(undefined, rejected);
  }

  finally(settled?: (() => void) | null): Promise<P> {
    return this.#start().finally(settled);
  }

  #start(): Promise<P> {
    return (this.#first ??= this.#read(undefined));
  }
}

/** That a list goes on where it was: it would for ever. */
function endless(): StatewrightError {
  const message = "a page of the list names itself as the page after it";
  return new StatewrightError({ code: "UNKNOWN_ANSWER", message, retry: false }, 0);
}

/** The cursor of the next page by a `Link` header. */
export function nextOf(link: string | null | undefined): string | undefined {
  const url = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1];
  const query = url?.split("?", 2)[1];
  return new URLSearchParams(query).get("cursor") ?? undefined;
}
