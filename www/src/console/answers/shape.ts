// What JSON must look like so that a view can show it, and where it does not. Pure.

import { isObject } from "../../parts/json-value.ts";

/** Where a value is another than it must be, and which it must be. */
export interface Misfit {
  /** As a JSON path: `$.items[0].id`. */
  readonly path: string;
  readonly expected: string;
}

/** Looks at a value that stands at a path; undefined where it fits. */
export type Shape = (value: unknown, path: string) => Misfit | undefined;

/** A shape for each member that the API's type says is always there; others may have one. */
type Shapes<T> = { readonly [Name in keyof T]: Shape };

function one(expected: string, fits: (value: unknown) => boolean): Shape {
  return (value, path) => (fits(value) ? undefined : { path, expected });
}

/** A text. */
export const text = one("a text", (value) => typeof value === "string");
/** A number. */
export const number = one("a number", (value) => typeof value === "number");
/** `true` or `false`. */
export const flag = one("true or false", (value) => typeof value === "boolean");
/** Anything, also nothing. */
export const anything: Shape = () => undefined;

/** What may be left out, or be null. */
export function maybe(shape: Shape): Shape {
  return (value, path) => (value === undefined || value === null ? undefined : shape(value, path));
}

/** A list. */
export function list(shape: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return { path, expected: "a list" };
    return first(value.map((item: unknown, at) => () => shape(item, `${path}[${at}]`)));
  };
}

/** An object whose names are not known. */
export function map(shape: Shape): Shape {
  return (value, path) => {
    if (!isObject(value)) return { path, expected: "an object" };
    return first(
      Object.entries(value).map(
        ([name, item]) =>
          () =>
            shape(item, step(path, name)),
      ),
    );
  };
}

/** An object with these members; it may have others. */
export function object<T extends object>(shapes: Shapes<T>): Shape {
  const members = Object.entries<Shape>(shapes);
  return (value, path) => {
    if (!isObject(value)) return { path, expected: "an object" };
    const own = new Map(Object.entries(value));
    return first(
      members.map(
        ([name, shape]) =>
          () =>
            shape(own.get(name), step(path, name)),
      ),
    );
  };
}

/** Both. */
export function both(a: Shape, b: Shape): Shape {
  return (value, path) => a(value, path) ?? b(value, path);
}

/** One or the other, by whether an object has a member. */
export function having(name: string, then: Shape, otherwise: Shape): Shape {
  return (value, path) => (isObject(value) && Object.hasOwn(value, name) ? then : otherwise)(value, path);
}

/** One of these: where none fits, what the last one says. */
export function either(a: Shape, b: Shape): Shape {
  return (value, path) => a(value, path) && b(value, path);
}

function first(looks: readonly (() => Misfit | undefined)[]): Misfit | undefined {
  for (const look of looks) {
    const misfit = look();
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

function step(path: string, name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
