import { Monitor, Moon, Sun } from "lucide";
import type { JSX } from "preact";

import { IconButton } from "../parts/button.tsx";
import { linkTo, route } from "./route.ts";
import { type Theme, theme } from "./theme.ts";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

/** The name, the two views, and the theme. */
export function Header(): JSX.Element {
  const inConsole = route.value[0] === "console";
  return (
    <header class="header">
      <a class="header-name" href={linkTo()}>
        <img src="./favicon.svg" alt="" width="22" height="22" />
        Statewright
      </a>
      <nav class="header-views" aria-label="Views">
        <a href={linkTo()} aria-current={inConsole ? undefined : "page"}>
          Simulator
        </a>
        <a href={linkTo("console")} aria-current={inConsole ? "page" : undefined}>
          Console
        </a>
      </nav>
      <IconButton
        icon={ICONS[theme.value]}
        label={`Theme: ${theme.value}. Change to ${NEXT[theme.value]}`}
        onClick={() => {
          theme.value = NEXT[theme.value];
        }}
      />
    </header>
  );
}
