/** Labels of regions in levels, as a tree that can be searched, cut and opened. */

export interface Labelled {
  readonly label: string;
  readonly parents: readonly string[];
  readonly n: number;
}

export interface Branch<T extends Labelled> {
  readonly line: T;
  /** Labels from the root down; a label with two parents has two paths. */
  readonly path: string;
  readonly children: readonly Branch<T>[];
}

export interface Leaf<T extends Labelled> {
  readonly line: T;
  readonly path: string;
  readonly depth: number;
  readonly children: number;
  readonly open: boolean;
}

export interface Wanted {
  /** Fewest regions of a label. */
  readonly least: number;
  /** Part of a label's name, in any case. */
  readonly text: string;
  /** Paths of the branches that were opened by hand. */
  readonly open: ReadonlySet<string>;
}

export type Order<T> = (a: T, b: T) => number;

const SEPARATOR = " › ";

/** Put labels below their parents; a label whose parents are not among the lines is a root. */
export function growTree<T extends Labelled>(lines: readonly T[], order: Order<T>): Branch<T>[] {
  const known = new Map(lines.map((line) => [line.label, line]));
  const below = new Map<string, T[]>();
  const roots: T[] = [];
  for (const line of lines) {
    const above = line.parents.filter((parent) => known.has(parent));
    if (above.length === 0) roots.push(line);
    for (const parent of above) below.set(parent, [...(below.get(parent) ?? []), line]);
  }
  const grow = (line: T, above: readonly string[]): Branch<T> => {
    const names = [...above, line.label];
    const children = (below.get(line.label) ?? []).filter((child) => !names.includes(child.label));
    return {
      line,
      path: names.join(SEPARATOR),
      children: children.sort(order).map((child) => grow(child, names)),
    };
  };
  return roots.sort(order).map((line) => grow(line, []));
}

const matches = (line: Labelled, text: string): boolean =>
  line.label.toLowerCase().includes(text.trim().toLowerCase());

const holds = <T extends Labelled>(branch: Branch<T>, text: string): boolean =>
  branch.children.some((child) => matches(child.line, text) || holds(child, text));

/** Return what is to be seen, from the top: branches that match, and the way to them. */
export function visibleLeaves<T extends Labelled>(
  branches: readonly Branch<T>[],
  wanted: Wanted,
): Leaf<T>[] {
  const searching = wanted.text.trim() !== "";
  const walk = (branch: Branch<T>, depth: number, within: boolean): Leaf<T>[] => {
    const here = within || matches(branch.line, wanted.text);
    const deeper = holds(branch, wanted.text);
    if (branch.line.n < wanted.least || !(here || deeper)) return [];
    const shown = branch.children.filter((child) => child.line.n >= wanted.least);
    const open = shown.length > 0 && (wanted.open.has(branch.path) || (searching && deeper));
    const inside = open ? shown.flatMap((child) => walk(child, depth + 1, here)) : [];
    const leaf = { line: branch.line, path: branch.path, depth, children: shown.length, open };
    return [leaf, ...inside];
  };
  return branches.flatMap((branch) => walk(branch, 0, false));
}

/** Return the paths of all branches that can be opened. */
export function allPaths<T extends Labelled>(branches: readonly Branch<T>[]): string[] {
  return branches.flatMap((branch) =>
    branch.children.length === 0 ? [] : [branch.path, ...allPaths(branch.children)],
  );
}

/** Order by a number, the largest first and what has none last; equal ones by name. */
export function byNumber<T extends Labelled>(read: (line: T) => number | null): Order<T> {
  return (a, b) => {
    const [first, second] = [read(a), read(b)];
    if (first === second) return a.label.localeCompare(b.label);
    if (first === null) return 1;
    return second === null ? -1 : second - first;
  };
}

export const byName: Order<Labelled> = (a, b) => a.label.localeCompare(b.label);
