/** The dashboard: what the whole study found, from many sides. */
import { type ComponentType } from "react";

import type { Health } from "../../api/client";
import { useHealth, useStudy } from "../../api/queries";
import { carriedToView, ClearButton, Empty, Page, useNamedWords, useView, ViewLinks } from "../../components";
import { plural } from "../../format";
import { to } from "../../url";
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
        <ClearButton names={CLEARED} />
      </div>
      <Current />
    </>
  );
}

export default function Dashboard() {
  const view = useView(VIEWS);
  const words = useNamedWords(CLEARED);
  const hrefOf = (other: View) =>
    to.dashboard({ view: other === VIEWS[0] ? null : other, ...carriedToView(words, VIEW_INFO[view], VIEW_INFO[other]) });
  const health = useHealth().data;
  return (
    <Page title="Dashboard" lead={<Lead />} wide>
      <ViewLinks page="Dashboard" label="Views of the dashboard" views={VIEWS} info={VIEW_INFO} current={view} hrefOf={hrefOf} />
      <Shown view={view} health={health} />
    </Page>
  );
}
