/** Prototypes: are they about the object, what is their similarity made of, and what if … */
import type { PrototypeBenchmark, PrototypeList } from "../../api/client";
import { usePrototypeBenchmark, usePrototypeList } from "../../api/queries";
import { Link, Loaded, Page, Select } from "../../components";
import { percent, plural } from "../../format";
import { useKeys } from "../../keys";
import { go, useParam, useUrl, useWord } from "../../url";
import { viewAddress, VIEW_INFO, VIEWS, type View } from "./address";
import { Prototypes } from "./cards";
import { LiveView } from "./live";
import { Overview } from "./overview";
import "./prototypes.css";

const COMPONENTS = { overview: Overview, prototypes: Prototypes, live: LiveView } as const;

function ViewLinks({ name, current }: { name: string; current: View }) {
  const { params } = useUrl();
  const prototype = params.get("prototype");
  return (
    <nav className="views" aria-label="Views of the prototypes">
      {VIEWS.map((view) => (
        <Link key={view} href={viewAddress(name, view, view === "live" ? { prototype } : {})} aria-current={view === current ? "page" : undefined}>
          {VIEW_INFO[view].title}
        </Link>
      ))}
    </nav>
  );
}

function Found({ list, name, view }: { list: PrototypeList; name: string; view: View }) {
  const answer = usePrototypeBenchmark(name);
  const Current = COMPONENTS[view];
  const about = list.benchmarks.find((one) => one.name === name);
  const names = list.benchmarks.map((one) => ({ value: one.name, label: one.name }));
  const lead = about && `${about.model} on ${about.data}: ${plural(about.prototypes, about.score === "similarity" ? "prototype" : "class", about.score === "similarity" ? "prototypes" : "classes")}, accuracy ${percent(about.accuracy.value)}.`;
  const tools = names.length > 1 && <Select label="Benchmark" value={name} options={names} onChange={(next) => go(viewAddress(next, "overview"))} />;
  return (
    <Page title="Prototypes" lead={lead} tools={tools} wide>
      <ViewLinks name={name} current={view} />
      <p className="views-asks">{VIEW_INFO[view].asks}</p>
      <Loaded of={answer}>{(of: PrototypeBenchmark) => <Current of={of} />}</Loaded>
    </Page>
  );
}

export default function PrototypesPage() {
  const list = usePrototypeList();
  const [view, setView] = useWord("view", VIEWS, "overview");
  const [asked] = useParam("name");
  const step = (by: number) => {
    const next = VIEWS[(VIEWS.indexOf(view) + by + VIEWS.length) % VIEWS.length];
    if (next) setView(next, { push: true });
  };
  useKeys("Prototypes", [
    { keys: ["]"], label: "next view", run: () => step(1) },
    { keys: ["["], label: "view before", run: () => step(-1) },
  ]);
  if (list.data === undefined) {
    return (
      <Page title="Prototypes">
        <Loaded of={list}>{() => null}</Loaded>
      </Page>
    );
  }
  return <Found list={list.data} name={asked || (list.data.benchmarks[0]?.name ?? "")} view={view} />;
}
