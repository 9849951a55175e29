// The drawing as files that stand alone: what the page's styles make of it is written into its elements.

/** What of a shape's style is written, as SVG names it, and what it is where nothing is written. */
const OF_SHAPES = [
  ["fill", "rgb(0, 0, 0)"],
  ["fill-opacity", "1"],
  ["stroke", "none"],
  ["stroke-width", "1px"],
  ["stroke-opacity", "1"],
  ["stroke-dasharray", "none"],
  ["stroke-linecap", "butt"],
  ["stroke-linejoin", "miter"],
] as const;

/** What of a text's is. */
const OF_TEXTS = [
  ["fill", "rgb(0, 0, 0)"],
  ["font-family", ""],
  ["font-size", ""],
  ["font-weight", "400"],
  ["text-anchor", "start"],
] as const;

/** The page's font, and where there is none those that are as wide. */
const FONTS = '"Inter Variable", Inter, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** Attributes that are the page's own. */
const DROPPED = [
  "class",
  "pathLength",
  "tabindex",
  "data-key",
  "data-width",
  "data-height",
  "role",
  "aria-current",
  "aria-hidden",
  "aria-label",
];

const NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = 16;
/** The most pixels of a side, and of all: more is no canvas in some browsers. */
const LONGEST = 8192;

export interface Drawn {
  readonly text: string;
  readonly width: number;
  readonly height: number;
}

/** All of a drawing as an SVG document. */
export function svgOf(drawing: SVGSVGElement, title: string): Drawn {
  const content = drawing.querySelector<SVGGElement>(".diagram-content");
  const width = Math.ceil(Number(content?.dataset["width"] ?? 0)) + 2 * MARGIN;
  const height = Math.ceil(Number(content?.dataset["height"] ?? 0)) + 2 * MARGIN;
  const root = document.createElementNS(NAMESPACE, "svg");
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  const named = document.createElementNS(NAMESPACE, "title");
  named.textContent = title;
  const ground = document.createElementNS(NAMESPACE, "rect");
  ground.setAttribute("width", String(width));
  ground.setAttribute("height", String(height));
  ground.setAttribute("fill", getComputedStyle(drawing).backgroundColor);
  root.append(named, ground);
  if (content !== null) {
    const copy = plain(content);
    copy?.setAttribute("transform", `translate(${MARGIN} ${MARGIN})`);
    if (copy !== undefined) root.append(copy);
  }
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

/** A copy with its style as attributes; of what is not seen, none. */
function plain(element: Element): Element | undefined {
  const style = getComputedStyle(element);
  if (
    style.display === "none" ||
    element.classList.contains("diagram-toggle") ||
    element.classList.contains("diagram-ring")
  )
    return undefined;
  const copy = element.cloneNode(false);
  if (!(copy instanceof Element)) return undefined;
  for (const name of DROPPED) copy.removeAttribute(name);
  const written =
    element instanceof SVGTextElement ? OF_TEXTS : element instanceof SVGGeometryElement ? OF_SHAPES : [];
  for (const [name, usual] of written) {
    const value = name === "font-family" ? FONTS : style.getPropertyValue(name);
    if (value !== usual) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    const inside = child instanceof Element ? plain(child) : child.cloneNode(false);
    if (inside !== undefined) copy.appendChild(inside);
  }
  return copy;
}

/** A drawing as a picture, two pixels for each of the page's, or fewer where it is very large. */
export async function pngOf({ text, width, height }: Drawn): Promise<Blob> {
  const scale = Math.min(2, LONGEST / Math.max(width, height));
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob(
        (blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob)),
        "image/png",
      );
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}
