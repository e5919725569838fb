/** Checks: is a map about the model at all, and about what of it? */
import { type ComponentType } from "react";

import { useChecks, useHealth } from "../../api/queries";
import { carriedToView, Page, Spinner, useNamedWords, useView, ViewLinks } from "../../components";
import { plural } from "../../format";
import { to } from "../../url";
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
  const view = useView(VIEWS);
  const words = useNamedWords(NARROWING);
  const hrefOf = (other: View) =>
    to.checks({ view: other === VIEWS[0] ? null : other, ...carriedToView(words, VIEW_INFO[view], VIEW_INFO[other]) });
  const health = useHealth().data;
  const stored = health?.checks.filter((name) => name !== "reference") ?? [];
  return (
    <Page title="Checks" lead={health && <Lead checks={stored} />} wide>
      <ViewLinks page="Checks" label="Views of the checks" views={VIEWS} info={VIEW_INFO} current={view} hrefOf={hrefOf} />
      {health ? <Shown view={view} stored={stored} /> : <Spinner />}
    </Page>
  );
}
