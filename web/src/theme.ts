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
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}

function darkNow(): boolean {
  const theme = chosenTheme();
  return theme === "system" ? window.matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, chosenTheme);
}

/** Whether the page is dark now, for canvases that cannot use custom properties. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, darkNow);
}
