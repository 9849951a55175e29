// Reads WebAssembly modules as far as the scripts beside need: sections, imports, bodies of functions.

/** Ids of sections. */
export const CUSTOM = 0;
export const IMPORTS = 2;
export const CODE = 10;
/** The id of the names of functions in the custom section `name`. */
export const FUNCTION_NAMES = 1;

/** A function's body: where it begins and ends. */
export type Body = readonly [begin: number, end: number];

/** Reads a module from a place on. */
export class Reader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new Error("the module ends early");
    this.at += 1;
    return byte;
  }

  /** An unsigned number in LEB128. */
  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  /** Passes over a text. */
  skip(): void {
    const length = this.number();
    this.at += length;
  }

  /** Reads a text. */
  text(): string {
    const length = this.number();
    this.at += length;
    return Buffer.from(this.bytes.subarray(this.at - length, this.at)).toString();
  }
}

/** A number in LEB128. */
export function leb(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  bytes.push(value);
  return bytes;
}

/** How many functions are imported; they stand before the module's own. */
export function importedFunctions(reader: Reader): number {
  let functions = 0;
  for (let left = reader.number(); left > 0; left -= 1) {
    reader.skip();
    reader.skip();
    const kind = reader.byte();
    if (kind === 0) {
      reader.number();
      functions += 1;
    } else if (kind === 1 || kind === 2) {
      if (kind === 1) reader.byte();
      const bounded = reader.byte() & 1;
      reader.number();
      if (bounded) reader.number();
    } else {
      // A global has a type and whether it is mutable; a tag has an attribute and a type.
      reader.byte();
      reader.number();
    }
  }
  return functions;
}
