/** Time spent on one item: while the page is in sight, without long rests. */

/** A longer rest than this counts as this long, in milliseconds. */
const REST_MS = 60_000;

export class Stopwatch {
  private spent = 0;
  private last: number | null;

  constructor(now: number) {
    this.last = now;
  }

  /** The person did something, or looks again. */
  touch(now: number): void {
    if (this.last !== null) this.spent += Math.min(REST_MS, Math.max(0, now - this.last));
    this.last = now;
  }

  /** The page went out of sight. */
  pause(now: number): void {
    if (this.last === null) return;
    this.touch(now);
    this.last = null;
  }

  /** Seconds until now, to the tenth. */
  seconds(now: number): number {
    if (this.last !== null) this.touch(now);
    return Math.round(this.spent / 100) / 10;
  }
}
