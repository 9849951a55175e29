// Light or dark: as the system has it, unless the user chose.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "statewright.theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    // Storage can be forbidden.
    return "system";
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(dark.matches);
dark.addEventListener("change", ({ matches }) => {
  systemIsDark.value = matches;
});

/** What the user chose. */
export const theme = signal<Theme>(stored());

/** Whether it is dark now. */
export function isDark(): boolean {
  return theme.value === "system" ? systemIsDark.value : theme.value === "dark";
}

/** Keeps the page and the browser's storage at what was chosen. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
    try {
      if (theme.value === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme.value);
    } catch {
      // Then it holds for this page.
    }
  });
}
