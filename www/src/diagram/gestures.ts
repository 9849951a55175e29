// Dragging, pinching and the wheel over the drawing.

import type { Point } from "./layout.ts";

export interface Gestured {
  readonly zoom: (by: number, at: Point) => void;
  readonly move: (by: Point) => void;
  /** By the wheel: whether there was anything to move. */
  readonly roll: (by: Point) => boolean;
}

/** So far a pointer may go and still be a click. */
const STILL = 4;

/** Listens to an element's pointers and wheel until its end. */
export class Gestures {
  readonly #element: SVGSVGElement;
  readonly #gestured: Gestured;
  readonly #ended = new AbortController();
  readonly #pointers = new Map<number, Point>();
  #from: Point | undefined;
  #dragging = false;

  constructor(element: SVGSVGElement, gestured: Gestured) {
    this.#element = element;
    this.#gestured = gestured;
    const { signal } = this.#ended;
    const listening = { signal, passive: false };
    element.addEventListener("pointerdown", (event) => this.#down(event), listening);
    element.addEventListener("pointermove", (event) => this.#moved(event), listening);
    element.addEventListener("pointerup", (event) => this.#up(event), listening);
    element.addEventListener("pointercancel", (event) => this.#up(event), listening);
    element.addEventListener("wheel", (event) => this.#wheel(event), listening);
    // A drag that ends over a state does not choose it.
    element.addEventListener("click", (event) => this.#click(event), { signal, capture: true });
  }

  end(): void {
    this.#ended.abort();
  }

  #at({ clientX, clientY }: MouseEvent): Point {
    const { left, top } = this.#element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    if (this.#pointers.size === 0) {
      this.#from = this.#at(event);
      this.#dragging = false;
    }
    this.#pointers.set(event.pointerId, this.#at(event));
  }

  #moved(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined) return;
    const now = this.#at(event);
    if (!this.#dragging) {
      if (this.#from === undefined || Math.hypot(now.x - this.#from.x, now.y - this.#from.y) < STILL) return;
      this.#dragging = true;
      // Not before: a captured click would not reach its state.
      this.#element.setPointerCapture(event.pointerId);
    }
    const other = [...this.#pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, now);
    if (other === undefined) {
      this.#gestured.move({ x: now.x - before.x, y: now.y - before.y });
      return;
    }
    const [far, was] = [
      Math.hypot(now.x - other.x, now.y - other.y),
      Math.hypot(before.x - other.x, before.y - other.y),
    ];
    if (was > 0) this.#gestured.zoom(far / was, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    this.#gestured.move({ x: (now.x - before.x) / 2, y: (now.y - before.y) / 2 });
  }

  #up(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
  }

  #click(event: Event): void {
    if (!this.#dragging) return;
    this.#dragging = false;
    event.stopPropagation();
    event.preventDefault();
  }

  #wheel(event: WheelEvent): void {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    const [across, down] = [-event.deltaX * unit, -event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      this.#gestured.zoom(Math.exp(down * 0.004), this.#at(event));
      event.preventDefault();
      return;
    }
    const sideways = event.shiftKey && across === 0;
    // What is seen whole leaves the wheel to the page.
    if (this.#gestured.roll(sideways ? { x: down, y: 0 } : { x: across, y: down })) event.preventDefault();
  }
}
