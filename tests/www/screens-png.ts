// Pictures kept small: as PNG with a palette, which pngjs does not write. A page has few colours, and letters' edges may be a little off.

import { crc32, deflateSync } from "node:zlib";

import { PNG } from "pngjs";

/** The same picture in its 256 commonest colours: another becomes the nearest of them. */
export function withPalette(picture: Buffer): Buffer {
  const { width, height, data } = PNG.sync.read(picture);
  const colours = new Uint32Array(width * height);
  const counts = new Map<number, number>();
  for (let at = 0; at < colours.length; at += 1) {
    const colour = colourAt(data, at * 4);
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, 256)
    .map(([colour]) => colour);
  const places = new Map(palette.map((colour, place) => [colour, place]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < colours.length; at += 1) {
    const colour = colours[at] ?? 0;
    const place = places.get(colour) ?? nearest(palette, colour);
    places.set(colour, place);
    // Each row begins with its filter: none.
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = place;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of a palette.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap((colour) => parts(colour)))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function colourAt(data: Buffer, at: number): number {
  return data.readUIntBE(at, 3);
}

function parts(colour: number): [red: number, green: number, blue: number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function nearest(palette: readonly number[], colour: number): number {
  const [red, green, blue] = parts(colour);
  let best = 0;
  let least = Infinity;
  for (const [place, other] of palette.entries()) {
    const [r, g, b] = parts(other);
    const distance = Math.abs(r - red) + Math.abs(g - green) + Math.abs(b - blue);
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
