import type { MouseEvent, ReactNode } from "react";

import { go } from "../url";

interface SvgLinkProps {
  /** Null: drawn, but it leads nowhere. */
  href: string | null;
  label: string;
  className?: string;
  /** It leads to what is shown already. */
  current?: boolean;
  children: ReactNode;
}

/** A mark of a drawing that is a link inside the app; opens like any link with Ctrl or Shift. */
export function SvgLink({ href, label, className = "", current, children }: SvgLinkProps) {
  if (href === null) {
    return (
      <g className={className} role="img" aria-label={label}>
        {children}
      </g>
    );
  }
  const follow = (event: MouseEvent<Element>) => {
    const special = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (special || event.button !== 0) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a
      href={href}
      className={`mark-link ${className}`}
      aria-label={label}
      aria-current={current ? "true" : undefined}
      onClick={follow}
    >
      {children}
    </a>
  );
}
