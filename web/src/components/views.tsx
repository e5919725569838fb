/** Pages with several views: which is shown, links to the others, words that narrow them down. */
import { useKeys } from "../keys";
import { carried, go, setParams, useUrl, useWord } from "../url";
import { Link } from "./link";

/** The view that the address names, else the first. */
export function useView<V extends string>(views: readonly [V, ...V[]]): V {
  return useWord<V>("view", views, views[0])[0];
}

/** The words that go from one view to another: see `carried`; filters stay on between tables. */
export function carriedToView<W extends object>(words: W, from: Narrowed, to: Narrowed): Partial<W> {
  return carried(words, to.single === true || from.single !== true);
}

/** `]` and `[` step through the views, as their links do. */
export function useViewKeys<V extends string>(page: string, views: readonly V[], view: V, hrefOf: (view: V) => string): void {
  const step = (by: number) => {
    const next = views[(views.indexOf(view) + by + views.length) % views.length];
    if (next) go(hrefOf(next));
  };
  useKeys(page, [
    { keys: ["]"], label: "next view", run: () => step(1) },
    { keys: ["["], label: "view before", run: () => step(-1) },
  ]);
}

interface Narrowed {
  /** About one choice of maps; else about all that are not filtered out. */
  readonly single?: boolean;
}

interface ViewLinksProps<V extends string> {
  page: string;
  /** What the links are called together. */
  label: string;
  views: readonly V[];
  info: Readonly<Record<V, { readonly title: string; readonly asks: string }>>;
  current: V;
  hrefOf: (view: V) => string;
}

/** Links to all views, and the question that the current one answers. */
export function ViewLinks<V extends string>({ page, label, views, info, current, hrefOf }: ViewLinksProps<V>) {
  useViewKeys(page, views, current, hrefOf);
  return (
    <>
      <nav className="views" aria-label={label}>
        {views.map((view) => (
          <Link key={view} href={hrefOf(view)} aria-current={view === current ? "page" : undefined}>
            {info[view].title}
          </Link>
        ))}
      </nav>
      <p className="views-asks">{info[current].asks}</p>
    </>
  );
}

/** Those words of the address that have one of some names. */
export function useNamedWords<N extends string>(names: readonly N[]): Partial<Record<N, string>> {
  const { params } = useUrl();
  const words: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = params.get(name);
    if (value !== null && value !== "") words[name] = value;
  }
  return words;
}

/** Takes words out of the address; not there while the address has none of them. */
export function ClearButton({ names }: { names: readonly string[] }) {
  const { params } = useUrl();
  if (!names.some((name) => params.has(name))) return null;
  const clear = () => setParams(Object.fromEntries(names.map((name) => [name, null])), { push: true });
  return (
    <button type="button" className="button quiet" onClick={clear}>
      Clear filters
    </button>
  );
}
