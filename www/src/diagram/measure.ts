// How wide texts will be in the drawing.

import type { Font, Measure } from "./sizes.ts";

/** The sizes and weights of the drawing's texts; diagram.css says the same. */
const FONTS: Readonly<Record<Font, string>> = {
  state: '550 13px "Inter Variable", system-ui, sans-serif',
  line: '450 12px "Inter Variable", system-ui, sans-serif',
  heading: '550 12px "Inter Variable", system-ui, sans-serif',
};

/** Measures by the page's own fonts, once they are there. */
export async function measuring(): Promise<Measure> {
  await Promise.all(Object.values(FONTS).map((font) => document.fonts.load(font))).catch(() => undefined);
  const context = document.createElement("canvas").getContext("2d");
  const known = new Map<string, number>();
  return (text, font) => {
    const key = `${font} ${text}`;
    let width = known.get(key);
    if (width === undefined) {
      if (context !== null) context.font = FONTS[font];
      width = context?.measureText(text).width ?? text.length * 8;
      known.set(key, width);
    }
    return width;
  };
}
