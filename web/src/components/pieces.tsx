/** Small pieces of which pages are made. */
import { useId, type ReactNode } from "react";

import { interval, score } from "../format";

export type Tone = "plain" | "good" | "bad" | "doubt" | "region" | "accent";

interface ChipProps {
  tone?: Tone;
  children: ReactNode;
  title?: string;
  /** Makes the chip a switch. */
  onClick?: () => void;
  pressed?: boolean;
  /** Makes a button that takes it away. */
  onRemove?: () => void;
  removeLabel?: string;
}

/** A short word on a coloured ground; colour never stands alone. */
export function Chip({ tone = "plain", children, title, onClick, pressed, onRemove, removeLabel }: ChipProps) {
  const className = `chip ${tone}`;
  if (onClick) {
    return (
      <button type="button" className={className} title={title} aria-pressed={pressed} onClick={onClick}>
        {children}
      </button>
    );
  }
  return (
    <span className={className} title={title}>
      {children}
      {onRemove && (
        <button type="button" aria-label={removeLabel ?? "Remove"} onClick={onRemove}>
          ×
        </button>
      )}
    </span>
  );
}

interface PanelProps {
  title: ReactNode;
  children: ReactNode;
  /** Buttons and menus at the right of the title. */
  tools?: ReactNode;
  note?: ReactNode;
  /** 2 under the page's title, 3 inside another panel. */
  level?: 2 | 3;
  className?: string;
  id?: string;
}

/** A titled box. */
export function Panel({ title, children, tools, note, level = 2, className = "", id }: PanelProps) {
  const heading = useId();
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <section className={`panel ${className}`} aria-labelledby={heading} id={id}>
      <header>
        <Heading id={heading}>{title}</Heading>
        {tools && <div className="tools">{tools}</div>}
      </header>
      {children}
      {note && <p className="note">{note}</p>}
    </section>
  );
}

interface ScoreProps {
  value: number | null | undefined;
  chance?: number | null;
  ceiling?: number | null;
  uniform?: number | null;
  low?: number | null;
  high?: number | null;
  digits?: number;
  /** Small print under the value rather than beside it. */
  stacked?: boolean;
}

/** A number with what no information scores and the best that is possible beside it. */
export function Score({ value, chance, ceiling, uniform, low, high, digits = 3, stacked }: ScoreProps) {
  const parts = [
    interval(low, high, digits),
    typeof chance === "number" ? `chance ${score(chance, digits)}` : "",
    typeof ceiling === "number" ? `ceiling ${score(ceiling, digits)}` : "",
    typeof uniform === "number" ? `uniform map ${score(uniform, digits)}` : "",
  ].filter((part) => part !== "");
  const missing = value === null || value === undefined;
  return (
    <span className={stacked ? "score stacked" : "score"}>
      <b className={missing ? "missing" : undefined}>{score(value, digits)}</b>
      {parts.length > 0 && <small> {parts.join(" · ")}</small>}
    </span>
  );
}

/** A bar from 0 to 1 with marks for chance and ceiling. */
export function ScoreBar({ value, chance, ceiling }: Pick<ScoreProps, "value" | "chance" | "ceiling">) {
  const at = (share: number) => `${Math.min(1, Math.max(0, share)) * 100}%`;
  return (
    <span className="score-bar" aria-hidden="true">
      {typeof value === "number" && <i style={{ width: at(value) }} />}
      {typeof chance === "number" && <em className="chance" style={{ left: at(chance) }} />}
      {typeof ceiling === "number" && <em className="ceiling" style={{ left: at(ceiling) }} />}
    </span>
  );
}

interface PagerProps {
  offset: number;
  limit: number;
  total: number;
  onOffset: (offset: number) => void;
  label?: string;
}

/** Steps through pages. */
export function Pager({ offset, limit, total, onOffset, label = "Pages" }: PagerProps) {
  if (total <= limit) return null;
  const last = Math.min(total, offset + limit);
  return (
    <nav className="pager" aria-label={label}>
      <button type="button" className="button" disabled={offset <= 0} onClick={() => onOffset(Math.max(0, offset - limit))}>
        Previous
      </button>
      <span>
        {offset + 1}–{last} of {total}
      </span>
      <button type="button" className="button" disabled={last >= total} onClick={() => onOffset(offset + limit)}>
        Next
      </button>
    </nav>
  );
}

/** A key, as on a keyboard. */
export function Key({ children }: { children: ReactNode }) {
  return <kbd>{children}</kbd>;
}

interface PageProps {
  title: string;
  lead?: ReactNode;
  tools?: ReactNode;
  children: ReactNode;
  /** The page uses the full width. */
  wide?: boolean;
}

/** A page: its heading, what it says in a line, its tools. */
export function Page({ title, lead, tools, children, wide }: PageProps) {
  return (
    <div className={wide ? "page wide" : "page"}>
      <title>{`${title} · Sightline`}</title>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {lead && <p className="lead">{lead}</p>}
        </div>
        {tools && <div className="tools">{tools}</div>}
      </header>
      {children}
    </div>
  );
}
