/** Spots with names, each a link: classes by accuracy and score. */
import { linear, niceDomain, SvgLink, tickDigits, ticks, useSize } from "../../charts";
import { score } from "../../format";

/** Spots over fewer images are rings, and stretch no axis. */
export const FEW = 5;

export interface Spot {
  key: string;
  name: string;
  x: number;
  y: number;
  /** How many images it stands for. */
  n: number;
  href: string | null;
}

interface ScatterProps {
  label: string;
  spots: readonly Spot[];
  xLabel: string;
  yLabel: string;
  /** Values that the level axis must reach. */
  xInclude?: readonly number[];
  height?: number;
}

const MARGIN = { left: 44, right: 16, top: 26, bottom: 42 };
const LETTER = 6.4;

/** Names beside spots lie on the side where there is room. */
export function nameSide(x: number, width: number, name: string): "start" | "end" {
  return x + 9 + name.length * LETTER > width ? "end" : "start";
}

/** How far a name may be moved away from its spot. */
const FAR = 20;

/** How far each name is moved down so that no two are on each other; null where that is too far, so that it is left out. */
export function nameShifts(places: readonly { x: number; y: number }[], bottom = Infinity, apart = 12, wide = 150): (number | null)[] {
  const order = places.map((_, index) => index).sort((a, b) => (places[a]?.y ?? 0) - (places[b]?.y ?? 0));
  const shifts: (number | null)[] = places.map(() => null);
  const set: { x: number; y: number }[] = [];
  for (const index of order) {
    const { x, y } = places[index] ?? { x: 0, y: 0 };
    const above = set.filter((one) => Math.abs(one.x - x) < wide).map((one) => one.y + apart);
    const at = Math.max(y, ...above);
    if (at - y > FAR || at > Math.max(bottom, y)) continue;
    shifts[index] = at - y;
    set.push({ x, y: at });
  }
  return shifts;
}

/** The values that the upright axis must reach: those of spots over some images, if there are any. */
export function heightsOf(spots: readonly Spot[]): number[] {
  const many = spots.filter(({ n }) => n >= FEW);
  return (many.length > 0 ? many : spots).map(({ y }) => y);
}

/** The name of a spot; over how few images it is, and its height where the axis does not reach it. */
export function nameOf({ name, n, y }: Spot, beyond: boolean): string {
  return n < FEW ? `${name} (n = ${n}${beyond ? `, ${score(y)}` : ""})` : name;
}

interface MarkProps {
  few: boolean;
  x: number;
  y: number;
  /** 1: above the axis, -1: below it; a triangle points there. */
  beyond: number;
}

function Mark({ few, x, y, beyond }: MarkProps) {
  const className = few ? "spot few" : "spot";
  if (beyond === 0) return <circle className={className} cx={x} cy={y} r={5} />;
  return <path className={className} d={`M${x - 6} ${y}L${x + 6} ${y}L${x} ${y - 9 * beyond}Z`} />;
}

export function Scatter({ label, spots, xLabel, yLabel, xInclude = [0, 1], height = 240 }: ScatterProps) {
  const [box, width] = useSize<HTMLDivElement>();
  const x = linear(niceDomain(spots.map((spot) => spot.x), xInclude), [MARGIN.left, Math.max(width - MARGIN.right, MARGIN.left + 40)]);
  const y = linear(niceDomain(heightsOf(spots), [0]), [height - MARGIN.bottom, MARGIN.top]);
  const [xs, ys] = [ticks(x.domain), ticks(y.domain)];
  const within = (value: number) => Math.min(y.domain[1], Math.max(y.domain[0], value));
  const beyond = ({ y: value }: Spot) => Math.sign(value - within(value));
  const text = (value: number, among: readonly number[]) => score(value, tickDigits(among));
  const shifts = nameShifts(spots.map((spot) => ({ x: x(spot.x), y: y(within(spot.y)) })), height - MARGIN.bottom);
  return (
    <div className="chart-box" ref={box}>
      <svg className="chart checks-scatter" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={label}>
        <g className="axes" aria-hidden="true">
          {ys.map((mark) => (
            <g key={mark}>
              <line className="grid" x1={x(x.domain[0])} x2={x(x.domain[1])} y1={y(mark)} y2={y(mark)} />
              <text className="tick y" x={MARGIN.left - 6} y={y(mark)}>
                {text(mark, ys)}
              </text>
            </g>
          ))}
          {xs.map((mark) => (
            <text key={mark} className="tick x" x={x(mark)} y={height - MARGIN.bottom + 16}>
              {text(mark, xs)}
            </text>
          ))}
          <text className="label x" x={(MARGIN.left + width - MARGIN.right) / 2} y={height - 8}>
            {xLabel}
          </text>
          <text className="label y" x={4} y={14}>
            {yLabel}
          </text>
        </g>
        {spots.map((spot, index) => {
          const shift = shifts[index] ?? null;
          const name = nameOf(spot, beyond(spot) !== 0);
          const side = nameSide(x(spot.x), width, name);
          const said = `${spot.name}: ${xLabel} ${score(spot.x, 2)}, ${yLabel} ${score(spot.y)}, ${spot.n} images`;
          return (
            <SvgLink key={spot.key} href={spot.href} label={said}>
              <Mark few={spot.n < FEW} x={x(spot.x)} y={y(within(spot.y))} beyond={beyond(spot)} />
              {shift !== null && (
                <text className="spot-name" x={x(spot.x) + (side === "start" ? 9 : -9)} y={y(within(spot.y)) + 4 + shift} textAnchor={side}>
                  {name}
                </text>
              )}
              <title>{said}</title>
            </SvgLink>
          );
        })}
      </svg>
    </div>
  );
}
