/**
 * One registry of keyboard commands, so that `?` can show them all.
 *
 * A key is written as the browser names it (`ArrowLeft`, `j`, `?`), with `Shift+` before keys that
 * are not characters, and `Ctrl+` or `Alt+` where meant; two keys with a space between are pressed
 * one after the other (`g d`). Keys typed into fields are left alone.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Command {
  keys: readonly string[];
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Whether it also works while a field has the focus. */
  inFields?: boolean;
  /** Whether a key that is held down counts once. */
  once?: boolean;
}

export interface CommandGroup {
  title: string;
  commands: readonly Command[];
}

const KEPT = "sightline.keys";
const SEQUENCE_MS = 1200;

let groups: readonly CommandGroup[] = [];
let enabled = readEnabled();
let first: { key: string; at: number } | null = null;
const listeners = new Set<() => void>();

function readEnabled(): boolean {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

function changed(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The name of what was pressed, as commands write it. */
export function keyName(event: KeyboardEvent): string {
  const name = event.key === " " ? "Space" : event.key;
  const shift = event.shiftKey && name.length > 1 ? "Shift+" : "";
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  return `${control}${event.altKey ? "Alt+" : ""}${shift}${name}`;
}

const LABELS: Readonly<Record<string, string>> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

/** What stands on a key. */
export const keyLabel = (key: string): string => LABELS[key] ?? key;

/** The keys that are pressed together: `Ctrl+a` is two, a lone `+` is one. */
export const keyParts = (keys: string): readonly string[] => keys.match(/[^+]+|\+$/g) ?? [];

const OWN_ARROWS = "[role=slider], [role=menu], [role=radiogroup], [role=tree], [role=grid]";

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "button"].includes(target.type);
  return false;
}

/** Elements that use arrows, Home, End, Space and Enter themselves keep them. */
function isOwn(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (key === "Enter" || key === "Space") return target.closest("a, button, summary, [role=button]") !== null;
  if (!/^(Shift\+)?(Arrow|Home|End|Page)/.test(key)) return false;
  return target.closest(OWN_ARROWS) !== null;
}

function find(key: string, inField: boolean): Command | null {
  for (const group of [...groups].reverse()) {
    for (const command of group.commands) {
      if (command.keys.includes(key) && (!inField || command.inFields)) return command;
    }
  }
  return null;
}

function startsSequence(key: string): boolean {
  return groups.some((group) =>
    group.commands.some((command) => command.keys.some((keys) => keys.startsWith(`${key} `))),
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const key = keyName(event);
  if (!enabled && !/^(Ctrl|Alt)\+/.test(key)) return;
  const inField = isField(event.target);
  const now = event.timeStamp;
  const before = first !== null && now - first.at < SEQUENCE_MS ? `${first.key} ${key}` : null;
  first = null;
  const command = (before === null ? null : find(before, inField)) ?? find(key, inField);
  if (command !== null && !isOwn(event.target, key)) {
    event.preventDefault();
    if (!(event.repeat && command.once)) command.run(event);
  } else if (!inField && startsSequence(key)) {
    first = { key, at: now };
  }
}

window.addEventListener("keydown", onKey);

/** Commands that hold while the component is there; those mounted last win. */
export function useKeys(title: string, commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const shape = commands.map((command) => `${command.keys.join(",")}=${command.label}`).join("\n");
  useEffect(() => {
    const group: CommandGroup = {
      title,
      commands: latest.current.map((command, index) => ({
        ...command,
        run: (event) => latest.current[index]?.run(event),
      })),
    };
    groups = [...groups, group];
    changed();
    return () => {
      groups = groups.filter((other) => other !== group);
      changed();
    };
  }, [title, shape]);
}

/** All commands that hold now, for the page of help. */
export function useCommandGroups(): readonly CommandGroup[] {
  return useSyncExternalStore(subscribe, () => groups);
}

/** Whether keys without Ctrl or Alt do anything; some people's input tools press them unmeant. */
export function useKeysEnabled(): [boolean, (on: boolean) => void] {
  const on = useSyncExternalStore(subscribe, () => enabled);
  return [on, setEnabled];
}

function setEnabled(on: boolean): void {
  enabled = on;
  try {
    localStorage.setItem(KEPT, on ? "on" : "off");
  } catch {
    // Storage may be off; then it holds until the page is left.
  }
  changed();
}
