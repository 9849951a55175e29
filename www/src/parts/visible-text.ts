// Signs that cannot be seen, or that turn the text around them, are shown as JSON writes them. So what looks like a name is that name:
// not one with something hidden in it, and none that reads backwards. Joiners stay, which emoji and some scripts are written with.

import { options, type VNode } from "preact";

const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Surrogate}/gu;

/** A text with nothing hidden in it. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Has everything that is drawn from now on shown like that: texts, titles and what is read out, but no values of fields. */
export function showHiddenSigns(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") vnode.props = visibleProps(vnode.props);
    before?.(vnode);
  };
}

function visibleProps(props: VNode["props"]): VNode["props"] {
  const shown: Record<string, unknown> = {};
  for (const name of ["title", "aria-label", "aria-description", "alt", "placeholder"]) {
    const value: unknown = name in props ? Reflect.get(props, name) : undefined;
    if (typeof value === "string" && value.search(HIDDEN) >= 0) shown[name] = visibleText(value);
  }
  const { children } = props;
  const visible = visibleChildren(children);
  if (visible !== children) shown["children"] = visible;
  return Object.keys(shown).length === 0 ? props : { ...props, ...shown };
}

function visibleChildren(children: VNode["props"]["children"]): VNode["props"]["children"] {
  if (typeof children === "string") return children.search(HIDDEN) >= 0 ? visibleText(children) : children;
  if (!Array.isArray(children)) return children;
  return children.some((child) => typeof child === "string" && child.search(HIDDEN) >= 0)
    ? children.map((child) => (typeof child === "string" ? visibleText(child) : child))
    : children;
}
