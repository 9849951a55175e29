// Takes out of a WebAssembly module what a panic would say. In this target it says so to nobody: the program's reader sees a trap either
// way, and what formats the messages is code to load.

import { readFileSync, writeFileSync } from "node:fs";

import { CODE, CUSTOM, FUNCTION_NAMES, importedFunctions, IMPORTS, leb, Reader } from "./wasm-module.ts";

/** Functions of Rust's library that do nothing but panic, by their mangled names. */
const PANICS = new RegExp(
  [
    "4core9panicking\\d",
    "4core3str\\d+slice_error_fail",
    "4core5slice5index\\d+slice_index_fail",
    "4core5slice\\d+copy_from_slice_impl\\d+len_mismatch_fail",
    "4core6option\\d+(unwrap|expect)_failed",
    "4core6result\\d+unwrap_failed",
    "4core4cell\\d+panic_already",
    "5alloc7raw_vec\\d+(handle_error|capacity_overflow)",
    "5alloc5alloc\\d+handle_alloc_error",
    "7___rustc\\d+rust_begin_unwind",
  ].join("|"),
);

/** A body without locals that is nothing but `unreachable`. */
const TRAP = Uint8Array.from([0, 0x00, 0x0b]);

/** Lets every panic of a module trap at once. The module must have its names yet. Gives how many functions were changed. */
export function trapPanics(file: string): number {
  const bytes = new Uint8Array(readFileSync(file));
  const names = functionNames(bytes);
  const kept: Uint8Array[] = [bytes.subarray(0, 8)];
  let imported = 0;
  let changed = 0;
  for (const { id, begin, body, end } of sections(bytes)) {
    const reader = new Reader(bytes, body);
    if (id === IMPORTS) imported = importedFunctions(reader);
    if (id !== CODE) {
      kept.push(bytes.subarray(begin, end));
      continue;
    }
    const count = reader.number();
    const parts: Uint8Array[] = [Uint8Array.from(leb(count))];
    for (let index = 0; index < count; index += 1) {
      const length = reader.number();
      const isPanic = PANICS.test(names.get(imported + index) ?? "");
      const code = isPanic ? TRAP : bytes.subarray(reader.at, reader.at + length);
      if (isPanic) changed += 1;
      parts.push(Uint8Array.from(leb(code.length)), code);
      reader.at += length;
    }
    const section = Buffer.concat(parts);
    kept.push(Uint8Array.from([CODE, ...leb(section.length)]), section);
  }
  writeFileSync(file, Buffer.concat(kept));
  return changed;
}

/** The sections of a module: where they begin, with their ids, and where their contents do. */
function* sections(bytes: Uint8Array): Generator<{ id: number; begin: number; body: number; end: number }> {
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const begin = reader.at;
    const id = reader.byte();
    const size = reader.number();
    const body = reader.at;
    reader.at += size;
    yield { id, begin, body, end: reader.at };
  }
}

/** The names of functions by their numbers, those of imported ones first. */
function functionNames(bytes: Uint8Array): Map<number, string> {
  const names = new Map<number, string>();
  for (const { id, body, end } of sections(bytes)) {
    const reader = new Reader(bytes, body);
    if (id !== CUSTOM || reader.text() !== "name") continue;
    while (reader.at < end) {
      const kind = reader.byte();
      const size = reader.number();
      const next = reader.at + size;
      if (kind === FUNCTION_NAMES) {
        for (let left = reader.number(); left > 0; left -= 1) {
          const index = reader.number();
          names.set(index, reader.text());
        }
      }
      reader.at = next;
    }
  }
  return names;
}
