/** Lines of tables, whatever they are about. */

/** Lines by a name that they share, in the order in which names first come. */
export function groupBy<T>(lines: readonly T[], read: (line: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const line of lines) {
    const name = read(line);
    const found = groups.get(name);
    if (found) found.push(line);
    else groups.set(name, [line]);
  }
  return groups;
}
