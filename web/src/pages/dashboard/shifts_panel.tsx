/** Images that moved from one side of a comparison to the other; each opens in Compare. */
import type { ReactNode } from "react";

import type { ComparisonLine, Shift } from "../../api/client";
import { thumbnailUrl, useComparison } from "../../api/queries";
import { ChartFrame, ShiftBars } from "../../charts";
import { Link, Loaded } from "../../components";
import { plural, score, signed } from "../../format";
import { go, type Words } from "../../url";
import { joined, layerName } from "./lines";
import { compareBehind } from "./links";
import { countShifts, farthest, ordered } from "./shifts";
import { commonName, sideBehind, sideName, type By } from "./sides";

const SHOWN = 6;

interface EndProps {
  title: string;
  shifts: readonly Shift[];
  hrefOf: (image: string) => string;
}

function End({ title, shifts, hrefOf }: EndProps) {
  if (shifts.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className="dashboard-pictures">
        {shifts.map(({ image, a, b, shift }) => (
          <li key={image}>
            <Link href={hrefOf(image)}>
              <img src={thumbnailUrl(image, 160)} alt="" loading="lazy" width="150" height="150" />
              <span className="name">{image}</span>
              <span className="score stacked">
                <b>{signed(shift)}</b>{" "}
                <small>
                  {score(a)} → {score(b)}
                </small>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface ShiftsPanelProps {
  words: Words;
  by: By;
  a: string;
  b: string;
  line: ComparisonLine;
  text: ReactNode;
}

function countText(shifts: readonly Shift[]): string {
  const { gained, equal, lost, undefined: missing } = countShifts(shifts);
  const text = `${plural(gained, "image")} gained, ${lost} lost, ${equal} stayed`;
  return missing === 0 ? `${text}.` : `${text}; ${missing} cannot be compared.`;
}

/** Shifts of all images by one line. */
export function ShiftsPanel({ words, by, a, b, line, text }: ShiftsPanelProps) {
  const answer = useComparison({ ...words, by, a, b }, { keep: true });
  const metric = answer.data?.metric ?? "";
  const sides = [sideName(by, a), sideName(by, b)] as const;
  const hrefOf = (image: string) =>
    compareBehind(image, sideBehind(line, by, "a"), sideBehind(line, by, "b"), metric);
  const shifts = ordered(answer.data?.images ?? []);
  const { lost, gained } = farthest(shifts, SHOWN);
  const data = () => ({
    columns: ["image", ...sides, "shift"],
    rows: shifts.map((one) => [one.image, one.a, one.b, one.shift]),
  });
  const layers = joined(layerName(line.layer_a), layerName(line.layer_b)).replace(", ", " → ");
  return (
    <ChartFrame
      title={`Shift of each image: ${joined(commonName(line), by === "layer" ? "" : layers)}`}
      name="shifts"
      data={data}
      note="Click an image to see both maps beside each other."
    >
      {text}
      <Loaded of={answer}>
        {() => (
          <>
            <p>{countText(shifts)}</p>
            <ShiftBars
              label={`Shift of each image from ${sides[0]} to ${sides[1]}`}
              bars={shifts.map((one) => ({ ...one, key: one.image }))}
              yLabel={`${metric}, ${sides[1]} minus ${sides[0]}`}
              sides={sides}
              onPick={(image) => go(hrefOf(image))}
            />
            <div className="dashboard-ends">
              <End title="Lost most" shifts={lost} hrefOf={hrefOf} />
              <End title="Gained most" shifts={gained} hrefOf={hrefOf} />
            </div>
          </>
        )}
      </Loaded>
    </ChartFrame>
  );
}
