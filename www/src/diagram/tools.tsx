import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";

/** The diagram's toolbar: arrow keys lead from tool to tool. */
export function Tools({ children }: { children: ComponentChildren }): JSX.Element {
  const bar = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const tools = [...(bar.current?.querySelectorAll<HTMLButtonElement>("button:enabled") ?? [])];
    const at = tools.findIndex((tool) => tool === document.activeElement);
    const next =
      event.key === "ArrowRight"
        ? tools[(at + 1) % tools.length]
        : event.key === "ArrowLeft"
          ? tools.at(at - 1)
          : event.key === "Home"
            ? tools[0]
            : event.key === "End"
              ? tools.at(-1)
              : undefined;
    if (next === undefined) return;
    next.focus();
    event.preventDefault();
  };
  return (
    <div ref={bar} class="diagram-tools" role="toolbar" aria-label="Diagram" onKeyDown={onKeyDown}>
      {children}
    </div>
  );
}
