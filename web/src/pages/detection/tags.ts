/** Where the tags of boxes go, so that they hide each other as little as possible. */

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const TAG_HEIGHT = 16;
const MARK_WIDTH = 16;
const LETTER_WIDTH = 7.1;

/** How wide a tag is: its mark, and its text if it has one. */
export function tagWidth(text: string): number {
  return text ? MARK_WIDTH + text.length * LETTER_WIDTH + 5 : MARK_WIDTH;
}

const overlap = (a: Rectangle, b: Rectangle): number =>
  Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));

const inside = (tag: Rectangle, frame: Size): Rectangle => ({
  ...tag,
  x: Math.max(0, Math.min(tag.x, frame.width - tag.width)),
  y: Math.max(0, Math.min(tag.y, frame.height - tag.height)),
});

/** The places that a tag may take, the best first. */
function places(box: Rectangle, width: number): Rectangle[] {
  const right = box.x + box.width - width;
  const low = box.y + box.height;
  const corners: [number, number][] = [
    [box.x, box.y - TAG_HEIGHT],
    [right, box.y - TAG_HEIGHT],
    [box.x, low],
    [right, low],
    [box.x, box.y],
    [right, low - TAG_HEIGHT],
    [box.x - width, box.y],
    [box.x + box.width, box.y],
  ];
  return corners.map(([x, y]) => ({ x, y, width, height: TAG_HEIGHT }));
}

/** Give each box, in order, the place whose tag covers least of those before it. */
export function placeTags(
  boxes: readonly Rectangle[],
  widths: readonly number[],
  frame: Size,
): Rectangle[] {
  const taken: Rectangle[] = [];
  boxes.forEach((box, i) => {
    let best: Rectangle | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const place of places(box, widths[i]!)) {
      const tag = inside(place, frame);
      const hidden = taken.reduce((all, other) => all + overlap(tag, other), 0);
      if (hidden < least) [best, least] = [tag, hidden];
    }
    taken.push(best!);
  });
  return taken;
}

/** The largest size of a picture's shape that fits. */
export function fitInto(picture: Size, most: Size): Size {
  const scale = Math.min(most.width / picture.width, most.height / picture.height);
  return { width: picture.width * scale, height: picture.height * scale };
}
