/** The order in which items are gone through: it stays as it is while a person works. */

/** The items known so far, then those that are new. Nothing moves, and nothing goes. */
export function merged(order: readonly string[], fresh: readonly string[]): readonly string[] {
  const known = new Set(order);
  const added = fresh.filter((id) => !known.has(id) && known.add(id));
  return added.length === 0 ? order : [...order, ...added];
}

/** One step on or back; the ends stay. Where the current item is not listed: the first or the last. */
export function stepped(order: readonly string[], current: string | null, by: 1 | -1): string | null {
  const at = current === null ? -1 : order.indexOf(current);
  if (at < 0) return (by > 0 ? order[0] : order.at(-1)) ?? null;
  return order[Math.min(order.length - 1, Math.max(0, at + by))] ?? null;
}

/**
 * What is to be decided next: the next open item after the current one, then one before it; then
 * those that were skipped. Null: all is decided.
 */
export function nextOpen(order: readonly string[], current: string | null, statusOf: (id: string) => string): string | null {
  const at = current === null ? -1 : order.indexOf(current);
  const round = [...order.slice(at + 1), ...order.slice(0, Math.max(0, at))];
  return round.find((id) => statusOf(id) === "open") ?? round.find((id) => statusOf(id) === "skipped") ?? null;
}

/** Whether the end is near, so that more should be asked for. */
export function nearEnd(order: readonly string[], current: string | null, total: number): boolean {
  return order.length < total && order.length - 1 - order.indexOf(current ?? "") <= 5;
}

/** How long the rest will take, in words; empty: not known. */
export function leftText(open: number, seconds: number | null | undefined): string {
  if (open === 0 || seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const minutes = (open * seconds) / 60;
  if (minutes < 1) return "less than a minute left";
  if (minutes < 90) return `about ${Math.round(minutes)} min left`;
  return `about ${Number((minutes / 60).toFixed(1))} h left`;
}
