import { score } from "../../format";
import { tellBox, type Box } from "./boxes";
import { StateSwatch } from "./mark";
import { LOOKS, STATES } from "./states";

interface BoxListProps {
  boxes: readonly Box[];
  /** Places of the boxes to list. */
  places: readonly number[];
  active: number | null;
  onActive: (place: number | null) => void;
}

/** Errors first, then by confidence. */
export function listOrder(boxes: readonly Box[], places: readonly number[]): number[] {
  const rank = (place: number) => ["FP", "FN", "TP", "found", "ignored"].indexOf(boxes[place]!.state);
  const sure = (place: number) => boxes[place]!.score ?? 0;
  return [...places].sort((a, b) => rank(a) - rank(b) || sure(b) - sure(a) || a - b);
}

const partnerText = (box: Box): string => {
  if (box.taken_for) return box.state === "FN" ? `taken for ${box.taken_for}` : `on a true ${box.taken_for}`;
  return "";
};

function Row({ box, active, onActive }: { box: Box; active: boolean; onActive: (on: boolean) => void }) {
  return (
    <tr
      aria-current={active ? "true" : undefined}
      onPointerEnter={() => onActive(true)}
      onPointerLeave={() => onActive(false)}
    >
      <td>
        <button
          type="button"
          className="row-button"
          aria-label={`Show ${tellBox(box)}`}
          onFocus={() => onActive(true)}
          onBlur={() => onActive(false)}
          onClick={() => onActive(true)}
        >
          <StateSwatch state={box.state} /> {box.state}
        </button>
      </td>
      <td>
        {box.label}
        {partnerText(box) && <small> {partnerText(box)}</small>}
      </td>
      <td className="number">{box.score === null ? "–" : score(box.score, 2)}</td>
      <td className="number">{box.iou === null ? "–" : score(box.iou, 2)}</td>
    </tr>
  );
}

/** All boxes in words: what the picture shows, for keyboards and readers of screens too. */
export function BoxList({ boxes, places, active, onActive }: BoxListProps) {
  return (
    <div className="table-box detection-list" tabIndex={0} role="region" aria-label="Boxes of this image">
      <table className="data">
        <caption className="hidden">Boxes of this image: errors first, then the most confident</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Class</th>
            <th scope="col" className="number">
              Confidence
            </th>
            <th scope="col" className="number">
              IoU
            </th>
          </tr>
        </thead>
        <tbody>
          {listOrder(boxes, places).map((place) => (
            <Row
              key={place}
              box={boxes[place]!}
              active={place === active}
              onActive={(on) => onActive(on ? place : null)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The numbers of the picture, for CSV. */
export function boxData(boxes: readonly Box[]) {
  return {
    columns: ["state", "class", "confidence", "iou", "x0", "y0", "x1", "y1", "on_or_taken_for"],
    rows: STATES.flatMap((state) =>
      boxes
        .filter((box) => box.state === LOOKS[state].state)
        .map((box) => [state, box.label, box.score, box.iou, ...box.box, box.taken_for ?? ""]),
    ),
  };
}
