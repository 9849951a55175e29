// What the shapes of the drawing share.

import { Component } from "preact";

/** Drawn again only where what it is given changed. */
export abstract class Steady<P extends object> extends Component<P> {
  override shouldComponentUpdate(next: P): boolean {
    const now: object = this.props;
    return Object.entries(next).some(([name, value]) => !Object.is(Reflect.get(now, name), value));
  }
}

/** The classes that hold, as an attribute. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => name !== false && name !== undefined).join(" ");
}
