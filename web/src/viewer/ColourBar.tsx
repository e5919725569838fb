import { short } from "../format";
import { gradientOf } from "./colours";
import type { Look } from "./types";

/** The colours of a map with the values at both ends; a mark shows the value under the pointer. */
export function ColourBar({ look, value = null }: { look: Pick<Look, "colours" | "scale">; value?: number | null }) {
  const [low, high] = look.scale;
  const text = (number: number) => short(Number(number.toPrecision(3)));
  const place = value === null || high <= low ? null : Math.min(1, Math.max(0, (value - low) / (high - low)));
  return (
    <div className="colour-bar" role="img" aria-label={`Colours from ${text(low)} to ${text(high)}`}>
      <span>{text(low)}</span>
      <i style={{ backgroundImage: gradientOf(look.colours) }}>
        {place !== null && <b style={{ left: `${100 * place}%` }} />}
      </i>
      <span>{text(high)}</span>
    </div>
  );
}
