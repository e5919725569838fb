import type { LineLook } from "./colours";
import { MarkerShape } from "./marker";

export interface LegendItem {
  key: string;
  name: string;
  look: LineLook;
}

interface LegendProps {
  items: readonly LegendItem[];
  /** Keys of what is not drawn. */
  hidden?: ReadonlySet<string>;
  onToggle?: (key: string) => void;
  onHover?: (key: string | null) => void;
}

function Sample({ look }: { look: LineLook }) {
  return (
    <svg width="26" height="12" aria-hidden="true">
      <line x1="1" x2="25" y1="6" y2="6" stroke={look.colour} strokeWidth="2" strokeDasharray={look.dash} />
      <MarkerShape x={13} y={6} look={look} size={3.5} />
    </svg>
  );
}

/** Names of the lines; clicking one takes it out or brings it back. */
export function Legend({ items, hidden, onToggle, onHover }: LegendProps) {
  return (
    <ul className="legend" aria-label="Legend">
      {items.map(({ key, name, look }) => (
        <li key={key} onMouseEnter={() => onHover?.(key)} onMouseLeave={() => onHover?.(null)}>
          {onToggle ? (
            <button type="button" aria-pressed={!hidden?.has(key)} onClick={() => onToggle(key)}>
              <Sample look={look} /> {name}
            </button>
          ) : (
            <span>
              <Sample look={look} /> {name}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
