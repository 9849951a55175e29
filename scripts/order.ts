// Orders the functions of a WebAssembly module so that gzip finds more of what repeats: its window is 32 KB, and a function
// does best behind those that it has most in common with. Nothing but the order changes.

import { readFileSync, writeFileSync } from "node:fs";

import {
  CODE,
  CUSTOM,
  FUNCTION_NAMES,
  importedFunctions,
  IMPORTS,
  leb,
  Reader,
  type Body,
} from "./wasm-module.ts";

/** Bytes of a shingle: what two functions can have in common. */
const SHINGLE = 6;
/** One shingle in so many is looked at. */
const SAMPLED = 1;
/** A shingle that more functions have than this tells nothing apart. */
const MOST_COMMON = 200;
/** Bytes of code that a function is compared with, about gzip's window. */
const WINDOW = 30_000;

/** Each function's shingles that it has in common with others. */
function shingles(bytes: Uint8Array, bodies: readonly Body[]): Uint32Array[] {
  const sets = bodies.map(([begin, end]) => {
    const set = new Set<number>();
    for (let at = begin; at + SHINGLE <= end; at += 1) {
      let hash = 0x811c9dc5;
      for (let next = at; next < at + SHINGLE; next += 1)
        hash = Math.imul(hash ^ (bytes[next] ?? 0), 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
      if (hash % SAMPLED === 0) set.add(hash);
    }
    return set;
  });
  const known = new Map<number, number>();
  for (const set of sets) for (const hash of set) known.set(hash, (known.get(hash) ?? 0) + 1);
  const names = new Map<number, number>();
  return sets.map((set) =>
    Uint32Array.from(
      [...set].filter((hash) => {
        const count = known.get(hash) ?? 0;
        return count > 1 && count <= MOST_COMMON;
      }),
      (hash) => {
        const name = names.get(hash) ?? names.size;
        names.set(hash, name);
        return name;
      },
    ),
  );
}

/** An order in which each function follows those that it has most in common with. */
function ordered(bytes: Uint8Array, bodies: readonly Body[]): number[] {
  const sets = shingles(bytes, bodies);
  const having: number[][] = [];
  sets.forEach((set, index) => set.forEach((shingle) => (having[shingle] ??= []).push(index)));
  const within = new Uint32Array(having.length);
  const common = new Int32Array(bodies.length);
  const left = new Set(bodies.keys());
  const order: number[] = [];
  let first = 0;
  let size = 0;
  const length = (index: number) => {
    const [begin, end] = bodies[index] ?? [0, 0];
    return end - begin;
  };
  const count = (index: number, by: 1 | -1) => {
    for (const shingle of sets[index] ?? []) {
      const before = within[shingle] ?? 0;
      within[shingle] = before + by;
      if (before === (by === 1 ? 0 : 1)) {
        for (const other of having[shingle] ?? []) common[other] = (common[other] ?? 0) + by;
      }
    }
  };
  for (let next = 0; left.size > 0;) {
    left.delete(next);
    order.push(next);
    count(next, 1);
    size += length(next);
    for (; size > WINDOW && first < order.length - 1; first += 1) {
      const oldest = order[first] ?? 0;
      count(oldest, -1);
      size -= length(oldest);
    }
    let best = -1;
    for (const index of left) {
      const share = (common[index] ?? 0) / ((sets[index]?.length ?? 0) + 8);
      if (share > best) [best, next] = [share, index];
    }
  }
  return order;
}

/**
 * Names the functions of a module by the place that each is to have, so that `wasm-opt --reorder-functions-by-name` puts them there.
 * All other names are dropped.
 */
export function nameByPlace(file: string): void {
  const bytes = new Uint8Array(readFileSync(file));
  const kept: Uint8Array[] = [bytes.subarray(0, 8)];
  const bodies: Body[] = [];
  let imported = 0;
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const begin = reader.at;
    const id = reader.byte();
    const size = reader.number();
    const end = reader.at + size;
    if (id === IMPORTS) imported = importedFunctions(reader);
    if (id === CODE) {
      for (let left = reader.number(); left > 0; left -= 1) {
        const length = reader.number();
        bodies.push([reader.at, reader.at + length]);
        reader.at += length;
      }
    }
    if (id !== CUSTOM) kept.push(bytes.subarray(begin, end));
    reader.at = end;
  }
  const place: number[] = [];
  ordered(bytes, bodies).forEach((index, at) => (place[index] = at));
  const text = (name: string) => [...leb(name.length), ...Buffer.from(name)];
  // Imported functions keep their places whatever they are called.
  const names = [...leb(imported + bodies.length)];
  for (let index = 0; index < imported + bodies.length; index += 1) {
    const name = index < imported ? `i${index}` : String(place[index - imported]).padStart(8, "0");
    names.push(...leb(index), ...text(name));
  }
  const section = [...text("name"), FUNCTION_NAMES, ...leb(names.length), ...names];
  kept.push(Uint8Array.from([CUSTOM, ...leb(section.length), ...section]));
  writeFileSync(file, Buffer.concat(kept));
}
