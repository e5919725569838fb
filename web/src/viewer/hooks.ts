import { useEffect, useLayoutEffect, useState, type RefObject } from "react";

import type { Size } from "./view";

/** The size of an element in CSS pixels, as it changes. */
export function useElementSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>([0, 0]);
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return undefined;
    const measure = () => {
      const next: Size = [node.clientWidth, node.clientHeight];
      setSize((before) => (before[0] === next[0] && before[1] === next[1] ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

export interface Picture {
  element: HTMLImageElement | null;
  failed: boolean;
}

/** A picture once it can be drawn. */
export function usePicture(url: string | null): Picture {
  const [state, setState] = useState<Picture & { url: string | null }>({ url: null, element: null, failed: false });
  useEffect(() => {
    if (url === null) return undefined;
    let wanted = true;
    const element = new Image();
    element.onload = () => wanted && setState({ url, element, failed: false });
    element.onerror = () => wanted && setState({ url, element: null, failed: true });
    element.src = url;
    return () => {
      wanted = false;
    };
  }, [url]);
  return state.url === url ? state : { element: null, failed: false };
}
