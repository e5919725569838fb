import { act, type ReactElement } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach } from "vitest";

/** For the tests of a file: a box on the page, empty before each, and what draws an element in it. */
export function drawnBox() {
  const box = document.createElement("div");
  let root: Root;
  beforeEach(() => {
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
    document.body.append(box);
    root = createRoot(box);
  });
  afterEach(() => {
    act(() => root.unmount());
    box.remove();
  });
  return { box, draw: (element: ReactElement) => act(() => root.render(element)) };
}
