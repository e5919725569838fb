import type { Ref } from "react";

import type { Box } from "./boxes";
import { drawingOrder, tagOf, tellBox } from "./boxes";
import { MarkShape } from "./mark";
import { LOOKS, type State } from "./states";
import { placeTags, TAG_HEIGHT, tagWidth, type Rectangle, type Size } from "./tags";

/** Which boxes have their words beside them; their marks always stand there. */
export type Labelling = "none" | "errors" | "all";

interface BoxPictureProps {
  /** Null: the store has no picture, and boxes stand on a plain ground. */
  url: string | null;
  size: Size;
  /** In words, for those who do not see it. */
  label: string;
  boxes: readonly Box[];
  states: ReadonlySet<State>;
  labelling: Labelling;
  /** Places of boxes that stand out; the others are drawn faintly. Null: none does. */
  marked: ReadonlySet<number> | null;
  active: number | null;
  onActive: (place: number | null) => void;
  ref?: Ref<SVGSVGElement>;
}

const hasWords = (box: Box, labelling: Labelling): boolean =>
  labelling === "all" || (labelling === "errors" && (box.state === "FP" || box.state === "FN"));

const onPicture = ({ box }: Box, size: Size): Rectangle => ({
  x: box[0] * size.width,
  y: box[1] * size.height,
  width: (box[2] - box[0]) * size.width,
  height: (box[3] - box[1]) * size.height,
});

function Outline({ at, state, strong }: { at: Rectangle; state: State; strong: boolean }) {
  const look = LOOKS[state];
  const width = look.width + (strong ? 1.5 : 0);
  return (
    <>
      <rect {...at} fill={strong ? look.colour : "transparent"} fillOpacity={strong ? 0.22 : 0} stroke={look.halo} strokeOpacity={0.8} strokeWidth={width + 1.5} />
      <rect {...at} fill="none" stroke={look.colour} strokeWidth={width} strokeDasharray={look.dash} />
    </>
  );
}

function Tag({ at, state, text }: { at: Rectangle; state: State; text: string }) {
  const { colour, ink, halo } = LOOKS[state];
  return (
    <g transform={`translate(${at.x} ${at.y})`} pointerEvents="none">
      <rect width={at.width} height={TAG_HEIGHT} rx={2} fill={colour} stroke={halo} strokeOpacity={0.6} />
      <MarkShape state={state} />
      {text && (
        <text x={18} y={12} fill={ink} fontSize={11} fontWeight={600} fontFamily="system-ui, sans-serif">
          {text}
        </text>
      )}
    </g>
  );
}

/** An image with true and predicted boxes: by colour, line and mark. */
export function BoxPicture({ url, size, label, boxes, states, labelling, marked, active, onActive, ref }: BoxPictureProps) {
  const order = drawingOrder(boxes, states);
  const places = order.map((place) => onPicture(boxes[place]!, size));
  const faint = (place: number) => marked !== null && !marked.has(place) && place !== active;
  const texts = order.map((place) =>
    place === active || (hasWords(boxes[place]!, labelling) && !faint(place)) ? tagOf(boxes[place]!) : "",
  );
  const tags = placeTags(places, texts.map(tagWidth), size);
  const partner = active === null ? null : (boxes[active]?.partner ?? null);
  const strong = (place: number) => place === active || place === partner;
  // What is active is drawn last, above all others.
  const layers = order.map((_, i) => i).sort((a, b) => Number(strong(order[a]!)) - Number(strong(order[b]!)));
  return (
    <svg ref={ref} className="detection-picture" width={size.width} height={size.height} viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={label}>
      {url === null ? (
        <rect width={size.width} height={size.height} fill="#8884" />
      ) : (
        <image href={url} width={size.width} height={size.height} preserveAspectRatio="none" />
      )}
      {layers.map((i) => (
        <g
          key={order[i]}
          className="detection-box"
          data-state={boxes[order[i]!]!.state}
          data-place={order[i]}
          opacity={faint(order[i]!) ? 0.25 : 1}
          onPointerEnter={() => onActive(order[i]!)}
          onPointerLeave={() => onActive(null)}
        >
          <title>{tellBox(boxes[order[i]!]!)}</title>
          <Outline at={places[i]!} state={boxes[order[i]!]!.state} strong={strong(order[i]!)} />
        </g>
      ))}
      {layers.map((i) => (
        <g key={order[i]} opacity={faint(order[i]!) ? 0.25 : 1}>
          <Tag at={tags[i]!} state={boxes[order[i]!]!.state} text={texts[i]!} />
        </g>
      ))}
    </svg>
  );
}
