import { act, createElement, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { keyLabel, keyName, keyParts, useKeys, useKeysEnabled, type Command } from "./keys";

let end: () => void = () => undefined;
let setEnabled: (on: boolean) => void = () => undefined;

function Keys({ commands }: { commands: readonly Command[] }): ReactNode {
  useKeys("Test", commands);
  setEnabled = useKeysEnabled()[1];
  return null;
}

function hold(commands: readonly Command[]): void {
  const root = createRoot(document.createElement("div"));
  act(() => root.render(createElement(Keys, { commands })));
  end = () => act(() => root.unmount());
}

function press(key: string, target: EventTarget = document.body, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  return event;
}

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
});

afterEach(() => {
  act(() => setEnabled(true));
  end();
  document.body.replaceChildren();
});

describe("keys", () => {
  it("run their command and nothing else", () => {
    const run = vi.fn();
    hold([{ keys: ["j"], label: "next", run }]);
    expect(press("j").defaultPrevented).toBe(true);
    expect(press("k").defaultPrevented).toBe(false);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("count once while they are held down, where that is meant", () => {
    const [once, often] = [vi.fn(), vi.fn()];
    hold([{ keys: ["a"], label: "accept", run: once, once: true }, { keys: ["j"], label: "next", run: often }]);
    for (const key of ["a", "j"]) for (const repeat of [false, true]) expect(press(key, document.body, { repeat }).defaultPrevented).toBe(true);
    expect([once.mock.calls.length, often.mock.calls.length]).toEqual([1, 2]);
  });

  it("are left to fields", () => {
    const run = vi.fn();
    hold([{ keys: ["j"], label: "next", run }]);
    const field = document.createElement("input");
    document.body.append(field);
    press("j", field);
    expect(run).not.toHaveBeenCalled();
  });

  it("come one after the other", () => {
    const run = vi.fn();
    hold([{ keys: ["g d"], label: "dashboard", run }]);
    press("d");
    expect(run).not.toHaveBeenCalled();
    press("g");
    press("d");
    expect(run).toHaveBeenCalledTimes(1);
    press("d");
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("with Ctrl are others", () => {
    const run = vi.fn();
    hold([{ keys: ["j"], label: "next", run }]);
    press("j", document.body, { ctrlKey: true });
    expect(run).not.toHaveBeenCalled();
  });

  it("leave arrows to elements that use them, and Enter to buttons", () => {
    const run = vi.fn();
    hold([{ keys: ["ArrowRight", "Enter"], label: "next", run }]);
    const menu = document.createElement("div");
    menu.setAttribute("role", "menu");
    const button = document.createElement("button");
    document.body.append(menu, button);
    press("ArrowRight", menu);
    press("Enter", button);
    expect(run).not.toHaveBeenCalled();
    press("ArrowRight", button);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("can be turned off", () => {
    const run = vi.fn();
    hold([{ keys: ["j"], label: "next", run }]);
    act(() => setEnabled(false));
    press("j");
    expect(run).not.toHaveBeenCalled();
  });

  it("with Ctrl or Alt work though others are turned off", () => {
    const run = vi.fn();
    hold([{ keys: ["Ctrl+a", "Alt+ArrowLeft"], label: "all", run }]);
    act(() => setEnabled(false));
    press("a", document.body, { ctrlKey: true });
    press("ArrowLeft", document.body, { altKey: true });
    expect(run).toHaveBeenCalledTimes(2);
  });

  it("end with their component", () => {
    const run = vi.fn();
    hold([{ keys: ["j"], label: "next", run }]);
    end();
    end = () => undefined;
    press("j");
    expect(run).not.toHaveBeenCalled();
  });
});

it("keyName writes Shift only before keys that are not characters", () => {
  expect(keyName(new KeyboardEvent("keydown", { key: "?", shiftKey: true }))).toBe("?");
  expect(keyName(new KeyboardEvent("keydown", { key: "ArrowLeft", shiftKey: true }))).toBe("Shift+ArrowLeft");
  expect(keyName(new KeyboardEvent("keydown", { key: " " }))).toBe("Space");
});

it("keyParts knows what is pressed together; plus is a key too", () => {
  expect(["+", "Ctrl+a", "Ctrl++", "Shift+ArrowLeft", "j"].map(keyParts)).toEqual([["+"], ["Ctrl", "a"], ["Ctrl", "+"], ["Shift", "ArrowLeft"], ["j"]]);
  expect([keyLabel("ArrowLeft"), keyLabel("+")]).toEqual(["←", "+"]);
});
