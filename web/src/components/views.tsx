/** Pages with several views: which is shown, links to the others, words that narrow them down. */
import { useKeys } from "../keys";
import { setParams, useUrl, useWord } from "../url";
import { Link } from "./link";

/** The view that the address names, else the first; `]` and `[` step through them. */
export function useView<V extends string>(page: string, views: readonly [V, ...V[]]): V {
  const [view, setView] = useWord<V>("view", views, views[0]);
  const step = (by: number) => {
    const next = views[(views.indexOf(view) + by + views.length) % views.length];
    if (next) setView(next, { push: true });
  };
  useKeys(page, [
    { keys: ["]"], label: "next view", run: () => step(1) },
    { keys: ["["], label: "view before", run: () => step(-1) },
  ]);
  return view;
}

interface ViewLinksProps<V extends string> {
  /** What the links are called together. */
  label: string;
  views: readonly V[];
  info: Readonly<Record<V, { readonly title: string; readonly asks: string }>>;
  current: V;
  hrefOf: (view: V) => string;
}

/** Links to all views, and the question that the current one answers. */
export function ViewLinks<V extends string>({ label, views, info, current, hrefOf }: ViewLinksProps<V>) {
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
