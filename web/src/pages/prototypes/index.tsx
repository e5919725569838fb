/** Prototypes: are they about the object, what is their similarity made of, and what if … */
import type { PrototypeBenchmark, PrototypeList } from "../../api/client";
import { usePrototypeBenchmark, usePrototypeList } from "../../api/queries";
import { Loaded, Page, Select, useView, ViewLinks } from "../../components";
import { percent, plural } from "../../format";
import { go, useParam, useUrl } from "../../url";
import { viewAddress, VIEW_INFO, VIEWS, type View } from "./address";
import { Prototypes } from "./cards";
import { LiveView } from "./live";
import { Overview } from "./overview";
import "./prototypes.css";

const COMPONENTS = { overview: Overview, prototypes: Prototypes, live: LiveView } as const;

function Found({ list, name, view }: { list: PrototypeList; name: string; view: View }) {
  const { params } = useUrl();
  const answer = usePrototypeBenchmark(name);
  const hrefOf = (other: View) => viewAddress(name, other, other === "live" ? { prototype: params.get("prototype") } : {});
  const Current = COMPONENTS[view];
  const about = list.benchmarks.find((one) => one.name === name);
  const names = list.benchmarks.map((one) => ({ value: one.name, label: one.name }));
  const lead = about && `${about.model} on ${about.data}: ${plural(about.prototypes, about.score === "similarity" ? "prototype" : "class", about.score === "similarity" ? "prototypes" : "classes")}, accuracy ${percent(about.accuracy.value)}.`;
  const tools = names.length > 1 && <Select label="Benchmark" value={name} options={names} onChange={(next) => go(viewAddress(next, "overview"))} />;
  return (
    <Page title="Prototypes" lead={lead} tools={tools} wide>
      <ViewLinks page="Prototypes" label="Views of the prototypes" views={VIEWS} info={VIEW_INFO} current={view} hrefOf={hrefOf} />
      <Loaded of={answer}>{(of: PrototypeBenchmark) => <Current of={of} />}</Loaded>
    </Page>
  );
}

export default function PrototypesPage() {
  const list = usePrototypeList();
  const view = useView(VIEWS);
  const [asked] = useParam("name");
  if (list.data === undefined) {
    return (
      <Page title="Prototypes">
        <Loaded of={list}>{() => null}</Loaded>
      </Page>
    );
  }
  return <Found list={list.data} name={asked || (list.data.benchmarks[0]?.name ?? "")} view={view} />;
}
