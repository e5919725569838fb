/** How relevance is distributed over prototypes and patches, with chance drawn. */
import type { PrototypeRelevance } from "../../api/client";
import { linear, ticks, useSize } from "../../charts";
import { percent, plural, score } from "../../format";
import { binned, KIND_WORDS, MEASURE_WORDS } from "./numbers";

const HEIGHT = 150;
const MARGIN = { left: 34, right: 14, top: 22, bottom: 34 };

/** Bars of counts from 0 to 1; a line for the mean, a dashed one for chance. */
export function Distribution({ of }: { of: PrototypeRelevance }) {
  const [box, width] = useSize<HTMLDivElement>();
  const bins = binned(of.values);
  const most = Math.max(1, ...bins.map(({ count }) => count));
  const x = linear([0, 1], [MARGIN.left, Math.max(width - MARGIN.right, MARGIN.left + 60)]);
  const y = linear([0, most], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const measure = MEASURE_WORDS[of.measure];
  const what = KIND_WORDS[of.kind];
  const said = `${what}, ${measure}: mean ${score(of.value, 2)}, chance ${score(of.chance, 2)}, ${plural(of.n, "value")}`;
  const line = (value: number | null, kind: string, text: string) =>
    value === null ? null : (
      <g className={`bin-${kind}`}>
        <line x1={x(value)} x2={x(value)} y1={MARGIN.top - 4} y2={y(0)} />
        <text className="tick" x={x(value)} y={MARGIN.top - 9} textAnchor={kind === "chance" ? "end" : "start"}>
          {text}
        </text>
      </g>
    );
  return (
    <div className="chart-box" ref={box}>
      <svg className="chart prototypes-bins" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={said}>
        {bins.map(({ from, to, count }) => (
          <rect key={from} className="bin" x={x(from) + 0.5} width={Math.max(0, x(to) - x(from) - 1)} y={y(count)} height={y(0) - y(count)}>
            <title>{`${percent(from)} to ${percent(to)}: ${count}`}</title>
          </rect>
        ))}
        {line(of.chance, "chance", `chance ${score(of.chance, 2)}`)}
        {line(of.value, "mean", `mean ${score(of.value, 2)}`)}
        <line className="grid" x1={x(0)} x2={x(1)} y1={y(0)} y2={y(0)} />
        {ticks([0, 1]).map((mark) => (
          <text key={mark} className="tick" x={x(mark)} y={HEIGHT - MARGIN.bottom + 15} textAnchor="middle">
            {score(mark, 1)}
          </text>
        ))}
        <text className="tick" x={MARGIN.left - 6} y={y(most) + 4} textAnchor="end">
          {most}
        </text>
        <text className="axis-title" x={x(0.5)} y={HEIGHT - 4} textAnchor="middle">
          {`${what.toLowerCase()} by ${measure}`}
        </text>
      </svg>
    </div>
  );
}
