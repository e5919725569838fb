/** Which annotated region lies under a point. */

import type { RegionInfo } from "../api/client";
import type { Spot } from "./types";

type Ring = readonly (readonly number[])[];

/** Return the rings of a region; a box has one. */
export function ringsOf(region: RegionInfo): readonly Ring[] {
  if (region.outline.length > 0) return region.outline;
  const [x0, y0, x1, y1] = region.box as [number, number, number, number];
  return [[[x0, y0], [x1, y0], [x1, y1], [x0, y1]]];
}

/** Whether a point lies in a region; rings inside rings are holes. */
export function contains(region: RegionInfo, spot: Spot): boolean {
  return ringsOf(region).filter((ring) => isInRing(ring, spot)).length % 2 === 1;
}

/** Whether a region has figures of its own. */
export function isScored(region: Pick<RegionInfo, "dropped" | "ignore">): boolean {
  return region.dropped === "" && !region.ignore;
}

/** Return the smallest region under a point: a window in a portal is the window. */
export function regionAt(regions: readonly RegionInfo[], spot: Spot): RegionInfo | null {
  return regions
    .filter((region) => contains(region, spot))
    .reduce<RegionInfo | null>(
      (least, region) => (least === null || sizeOf(region) < sizeOf(least) ? region : least),
      null,
    );
}

function sizeOf(region: RegionInfo): number {
  const [x0, y0, x1, y1] = region.box as [number, number, number, number];
  return region.area ?? (x1 - x0) * (y1 - y0);
}

/** Count how often a ray to the right crosses the ring. */
function isInRing(ring: Ring, { x, y }: Spot): boolean {
  let inside = false;
  ring.forEach(([ax = 0, ay = 0], i) => {
    const [bx = 0, by = 0] = ring[(i + 1) % ring.length] ?? [];
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside;
  });
  return inside;
}
