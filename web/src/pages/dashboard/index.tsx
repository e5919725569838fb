/** The dashboard: what the whole study found, from many sides. */
import { type ComponentType } from "react";

import type { Health } from "../../api/client";
import { useHealth, useStudy } from "../../api/queries";
import { Empty, Link, Page } from "../../components";
import { plural } from "../../format";
import { useKeys } from "../../keys";
import { setParams, to, useUrl, useWord } from "../../url";
import { CompareView } from "./comparison";
import { FeaturesView } from "./features";
import { FilterBar } from "./filters";
import { HeadsView } from "./heads";
import { LayersView } from "./layers";
import { LeaderboardView } from "./leaderboard";
import { MatrixView } from "./matrix_view";
import { PercentilesView } from "./percentiles";
import { RankingView } from "./ranking";
import { StylesView } from "./styles";
import { HEAD_VIEWS, VIEW_INFO, VIEWS, type View } from "./views";
import "./dashboard.css";

const COMPONENTS: Readonly<Record<View, ComponentType>> = {
  leaderboard: LeaderboardView,
  layers: LayersView,
  percentiles: PercentilesView,
  ranking: RankingView,
  features: FeaturesView,
  styles: StylesView,
  heads: HeadsView,
  matrix: MatrixView,
  compare: CompareView,
};

/** Words that narrow the views down. */
const CLEARED = ["metric", "model", "method", "layer", "head", "target", "least", "find", "at"];

function ViewLinks({ current }: { current: View }) {
  const { params } = useUrl();
  const hrefOf = (view: View) => {
    const kept = CLEARED.map((name) => [name, params.get(name)] as const);
    return to.dashboard({ view: view === "leaderboard" ? null : view, ...Object.fromEntries(kept) });
  };
  return (
    <nav className="dashboard-views" aria-label="Views of the dashboard">
      {VIEWS.map((view) => (
        <Link key={view} href={hrefOf(view)} aria-current={view === current ? "page" : undefined}>
          {VIEW_INFO[view].title}
        </Link>
      ))}
    </nav>
  );
}

function ClearButton() {
  const { params } = useUrl();
  if (!CLEARED.some((name) => params.has(name))) return null;
  const clear = () => setParams(Object.fromEntries(CLEARED.map((name) => [name, null])), { push: true });
  return (
    <button type="button" className="button quiet" onClick={clear}>
      Clear filters
    </button>
  );
}

function Lead() {
  const study = useStudy().data;
  if (!study) return null;
  const models = study.models.filter((model) => !model.baseline).length;
  return (
    <>
      {plural(study.images, "image")}, {plural(models, "model")}, {plural(study.methods.length, "method")}. Click a mark
      to see the images behind it.
    </>
  );
}

function Shown({ view, health }: { view: View; health: Health | undefined }) {
  if (HEAD_VIEWS.includes(view) && health && !health.heads) {
    return (
      <Empty title="No single heads are stored">
        {health.missing["heads"] ?? "A study with `heads: all` in its file stores them."}
      </Empty>
    );
  }
  const Current = COMPONENTS[view];
  return (
    <>
      <div className="dashboard-bar">
        <FilterBar view={view} />
        <ClearButton />
      </div>
      <Current />
    </>
  );
}

export default function Dashboard() {
  const [view, setView] = useWord("view", VIEWS, "leaderboard");
  const health = useHealth().data;
  const step = (by: number) => {
    const next = VIEWS[(VIEWS.indexOf(view) + by + VIEWS.length) % VIEWS.length];
    if (next) setView(next, { push: true });
  };
  useKeys("Dashboard", [
    { keys: ["]"], label: "next view", run: () => step(1) },
    { keys: ["["], label: "view before", run: () => step(-1) },
  ]);
  return (
    <Page title="Dashboard" lead={<Lead />} wide>
      <ViewLinks current={view} />
      <p className="dashboard-asks">{VIEW_INFO[view].asks}</p>
      <Shown view={view} health={health} />
    </Page>
  );
}
