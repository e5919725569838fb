/** Explanations that show on hover, focus and touch, and go with Escape. */
import { useEffect, useId, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { createPortal } from "react-dom";

import { useMetricTable } from "../api/queries";
import type { MetricInfo } from "../api/client";
import { metricParts, short } from "../format";

const GAP = 6;
const EDGE = 8;
/** How long a bubble stays once the mouse has left: it must get over the gap to the bubble itself. */
const LINGERS_MS = 150;

interface TipProps {
  /** What is explained. */
  children: ReactNode;
  /** The explanation. */
  text: ReactNode;
}

/** What the mouse and the focus do to a bubble; Escape closes it wherever the focus is. */
function useOpen() {
  const [hovered, setHovered] = useState(false);
  const [focused, setFocused] = useState(false);
  const leaving = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const open = hovered || focused;
  useEffect(() => {
    if (!open) return;
    const close = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setHovered(false);
      setFocused(false);
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, [open]);
  useEffect(() => () => clearTimeout(leaving.current), []);
  const hover = (on: boolean) => {
    clearTimeout(leaving.current);
    if (on) setHovered(true);
    else leaving.current = setTimeout(() => setHovered(false), LINGERS_MS);
  };
  return { open, hover, focus: setFocused };
}

/** A term with an explanation. */
export function Tip({ children, text }: TipProps) {
  const id = useId();
  const { open, hover, focus } = useOpen();
  const term = useRef<HTMLButtonElement>(null);
  // The bubble is inside for React, so that the mouse on it has not left.
  return (
    <span className="tip" onMouseEnter={() => hover(true)} onMouseLeave={() => hover(false)}>
      <button
        ref={term}
        type="button"
        aria-describedby={open ? id : undefined}
        aria-expanded={open}
        onFocus={() => focus(true)}
        onBlur={() => focus(false)}
        onClick={(event) => (event.detail === 0 ? focus : hover)(true)}
      >
        {children}
      </button>
      {open && (
        <Bubble id={id} at={term}>
          {text}
        </Bubble>
      )}
    </span>
  );
}

interface BubbleProps {
  id: string;
  at: { readonly current: HTMLElement | null };
  children: ReactNode;
}

/** At the end of the page, so that no scrolling box cuts it off; kept inside the window. */
function Bubble({ id, at, children }: BubbleProps) {
  const bubble = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const anchor = at.current?.getBoundingClientRect();
    const box = bubble.current;
    if (!anchor || !box) return;
    const size = box.getBoundingClientRect();
    const left = Math.max(EDGE, Math.min(anchor.left, window.innerWidth - size.width - EDGE));
    const below = anchor.bottom + GAP + size.height <= window.innerHeight - EDGE;
    const top = below ? anchor.bottom + GAP : Math.max(EDGE, anchor.top - GAP - size.height);
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
  });
  return createPortal(
    <div ref={bubble} id={id} role="tooltip" className="bubble" onClick={(event) => event.stopPropagation()}>
      {children}
    </div>,
    document.body,
  );
}

const DIRECTIONS = {
  higher: "Higher is better.",
  lower: "Lower is better.",
  neither: "Neither high nor low is better.",
} as const;

/** The range in words. */
export function rangeText(info: Pick<MetricInfo, "low" | "high">): string {
  const end = (value: number | null, infinite: string) => (value === null ? infinite : short(value));
  return `${end(info.low, "−∞")} to ${end(info.high, "∞")}`;
}

function ThresholdLine({ threshold }: { threshold: string | null }) {
  if (threshold === null) return null;
  const number = Number(threshold);
  if (Number.isFinite(number)) {
    return <p>@{threshold}: the top {short(100 - number)}% of the pixels are selected.</p>;
  }
  const rules: Record<string, string> = {
    mean: "pixels above the map's mean are selected.",
    matched: "as many pixels as are annotated are selected.",
  };
  const mass = /^mass(\d+)$/.exec(threshold);
  const rule = mass ? `the smallest set of pixels that holds ${mass[1]}% of the mass is selected.` : rules[threshold];
  return rule ? <p>@{threshold}: {rule}</p> : null;
}

function MetricText({ info, threshold }: { info: MetricInfo; threshold: string | null }) {
  return (
    <div className="metric-text">
      <strong>{info.title}</strong>
      <p>{info.meaning}</p>
      <ThresholdLine threshold={threshold} />
      <p>
        {DIRECTIONS[info.direction]} Range {rangeText(info)}.
      </p>
      {info.chance && <p>Chance: {info.chance}</p>}
      {info.ceiling && <p>Ceiling: {info.ceiling}</p>}
      {info.best_for && <p>Good for: {info.best_for}</p>}
      {info.limitation && <p>Mind: {info.limitation}</p>}
      {info.undefined.length > 0 && <p>Undefined: {info.undefined.join("; ")}</p>}
      {info.citation && <p className="soft">{info.citation}</p>}
    </div>
  );
}

/** What the metric table says about `metric[@threshold]`. */
export function useMetricInfo(name: string): MetricInfo | undefined {
  const { metric } = metricParts(name);
  return useMetricTable().data?.metrics.find((info) => info.name === metric);
}

/** "IoU@90" for `iou@90`. */
export function metricTitle(info: MetricInfo | undefined, name: string): string {
  const { metric, threshold } = metricParts(name);
  return (info?.title ?? metric) + (threshold === null ? "" : `@${threshold}`);
}

interface MetricTipProps {
  /** `metric[@threshold]` */
  name: string;
  /** In place of its title. */
  children?: ReactNode;
}

/** The title of a metric; what it means shows on hover or focus. */
export function MetricTip({ name, children }: MetricTipProps) {
  const info = useMetricInfo(name);
  const { threshold } = metricParts(name);
  const title = children ?? metricTitle(info, name);
  if (!info) return <span>{title}</span>;
  return <Tip text={<MetricText info={info} threshold={threshold} />}>{title}</Tip>;
}
