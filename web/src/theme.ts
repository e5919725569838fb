/** Light or dark: the system's preference, unless people choose. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEPT = "sightline.theme";
const listeners = new Set<() => void>();

/** What was chosen. */
export function chosenTheme(): Theme {
  const kept = document.documentElement.dataset["theme"];
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Chooses, and keeps the choice in this browser. */
export function chooseTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, theme);
  } catch {
    // Storage may be off; then the choice holds until the page is left.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, chosenTheme);
}
