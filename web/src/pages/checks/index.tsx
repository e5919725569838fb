/** Checks: is a map about the model at all, and about what of it? */
import { type ComponentType } from "react";

import { useChecks, useHealth } from "../../api/queries";
import { Link, Page, Spinner } from "../../components";
import { plural } from "../../format";
import { useKeys } from "../../keys";
import { to, useUrl, useWord } from "../../url";
import { AgreementView } from "./agreement";
import { CascadeView } from "./cascade";
import { CorrectnessView } from "./correctness";
import { CurvesView } from "./curves";
import { FailuresView } from "./failures";
import { FaithfulnessView } from "./faithfulness";
import { FilterBar } from "./filters";
import { LayersView } from "./layers";
import { NotStored } from "./notes";
import { PartsView } from "./parts";
import { VerdictsView } from "./verdicts";
import { NARROWING, VIEW_INFO, VIEWS, type View } from "./views";
import "./checks.css";

const COMPONENTS: Readonly<Record<View, ComponentType>> = {
  verdicts: VerdictsView,
  cascade: CascadeView,
  faithfulness: FaithfulnessView,
  curves: CurvesView,
  parts: PartsView,
  correctness: CorrectnessView,
  agreement: AgreementView,
  layers: LayersView,
  failures: FailuresView,
};

function ViewLinks({ current }: { current: View }) {
  const { params } = useUrl();
  const hrefOf = (view: View) => {
    const kept = NARROWING.map((name) => [name, params.get(name)] as const);
    return to.checks({ view: view === "verdicts" ? null : view, ...Object.fromEntries(kept) });
  };
  return (
    <nav className="views" aria-label="Views of the checks">
      {VIEWS.map((view) => (
        <Link key={view} href={hrefOf(view)} aria-current={view === current ? "page" : undefined}>
          {VIEW_INFO[view].title}
        </Link>
      ))}
    </nav>
  );
}

function Lead({ checks }: { checks: readonly string[] }) {
  return (
    <>
      Scores elsewhere say whether maps agree with people. Here: whether they agree with the model.{" "}
      {checks.length === 0 ? "No checks are stored." : `${plural(checks.length, "check")}: ${checks.join(", ")}.`}
    </>
  );
}

function Shown({ view, stored }: { view: View; stored: readonly string[] }) {
  const checks = useChecks({ enabled: stored.length > 0 }).data;
  const { needs } = VIEW_INFO[view];
  if (needs && !stored.includes(needs)) return <NotStored needs={needs} stored={stored} />;
  const Current = COMPONENTS[view];
  return (
    <>
      <FilterBar view={view} checks={checks} />
      <Current />
    </>
  );
}

export default function Checks() {
  const [view, setView] = useWord("view", VIEWS, "verdicts");
  const health = useHealth().data;
  const stored = health?.checks.filter((name) => name !== "reference") ?? [];
  const step = (by: number) => {
    const next = VIEWS[(VIEWS.indexOf(view) + by + VIEWS.length) % VIEWS.length];
    if (next) setView(next, { push: true });
  };
  useKeys("Checks", [
    { keys: ["]"], label: "next view", run: () => step(1) },
    { keys: ["["], label: "view before", run: () => step(-1) },
  ]);
  return (
    <Page title="Checks" lead={health && <Lead checks={stored} />} wide>
      <ViewLinks current={view} />
      <p className="views-asks">{VIEW_INFO[view].asks}</p>
      {health ? <Shown view={view} stored={stored} /> : <Spinner />}
    </Page>
  );
}
