/** How single images moved from one side of a comparison to the other. */
import type { Shift } from "../../api/client";

/** Every image, from the largest loss to the largest gain; those without a shift last. */
export function ordered(shifts: readonly Shift[]): Shift[] {
  return [...shifts].sort((one, other) => {
    if (one.shift === null || other.shift === null) {
      return Number(one.shift === null) - Number(other.shift === null);
    }
    return one.shift - other.shift || one.image.localeCompare(other.image);
  });
}

export interface Ends {
  readonly lost: readonly Shift[];
  readonly gained: readonly Shift[];
}

/** The images that lost most and those that gained most, up to so many of each. */
export function farthest(shifts: readonly Shift[], most: number): Ends {
  const moved = shifts.filter(({ shift }) => shift !== null && shift !== 0);
  const lost = moved.filter(({ shift }) => shift !== null && shift < 0).slice(0, most);
  const gained = moved.filter(({ shift }) => shift !== null && shift > 0).slice(-most).reverse();
  return { lost, gained };
}

export interface Counts {
  readonly gained: number;
  readonly equal: number;
  readonly lost: number;
  readonly undefined: number;
}

/** How many images gained, lost, stayed, or cannot be compared. */
export function countShifts(shifts: readonly Shift[]): Counts {
  const count = (test: (shift: number) => boolean) =>
    shifts.filter(({ shift }) => shift !== null && test(shift)).length;
  return {
    gained: count((shift) => shift > 0),
    equal: count((shift) => shift === 0),
    lost: count((shift) => shift < 0),
    undefined: shifts.filter(({ shift }) => shift === null).length,
  };
}
