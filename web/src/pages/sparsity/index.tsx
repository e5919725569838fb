/** Sparsity: what missing labels may have done to the scores, and what can be said all the same. */
import { useMemo } from "react";

import type { Sparsity } from "../../api/client";
import { useMetricTable, useSparsity, useSparsityProgress } from "../../api/queries";
import { Loaded, Page, Select, Spinner } from "../../components";
import { count } from "../../format";
import { useParam } from "../../url";
import { Bands } from "./bands";
import { Divergence, Labelled } from "./labels";
import { Pairs } from "./pairs";
import { linesOf, type Line } from "./records";
import { cardsOf, isBaseline, keyOf, mainLine, nameOf } from "./report";
import { CorrectedIou, Sets, SideBySide } from "./scores";
import { Cards, Findings, Limits } from "./words";
import "./sparsity.css";

type Tables = Record<string, Line[]>;

/** IoU at a threshold that does not look at the annotation: what the report can be about. */
export const isReportable = (metric: string): boolean => /^iou@/.test(metric) && metric !== "iou@matched";

function useTables(report: Sparsity): Tables {
  return useMemo(
    () => Object.fromEntries(Object.entries(report.tables).map(([name, table]) => [name, linesOf(table)])),
    [report],
  );
}

function Report({ report }: { report: Sparsity }) {
  const tables = useTables(report);
  const at = (name: string): Line[] => tables[name] ?? [];
  const [asked, setAsked] = useParam("line");
  const lines = at("lines");
  const shown = lines.filter((line) => !isBaseline(line));
  const main = mainLine(lines);
  const chosen = shown.find((line) => nameOf(line) === asked) ?? main;
  if (!main || !chosen) return null;
  const key = keyOf(chosen);
  const cards = cardsOf({ counts: at("counts"), sets: at("sets"), pu: at("pu") }, key);
  const options = (shown.length ? shown : [main]).map((line) => ({ value: nameOf(line), label: nameOf(line) }));
  return (
    <>
      <p className="sparsity-lead">
        {report.metric} on {count(report.images)} images with {count(report.regions)} labelled regions. Where people label
        one window of five, a model that looks at all five is scored as if it were wrong four times. This page says how
        much of that could be in the scores, what can be concluded all the same, and what cannot.
      </p>
      <p>{report.best_baseline.sentence}</p>
      <Findings findings={report.findings} />
      <div className="sparsity-about">
        <Select
          label="Numbers, bands and disagreements below are about"
          value={nameOf(chosen)}
          options={options}
          onChange={(name) => setAsked(name === nameOf(main) ? "" : name)}
        />
        <Cards cards={cards} />
      </div>
      <Sets sets={at("sets")} lines={lines} metric={report.metric} missing={report.missing} />
      <Pairs verdicts={at("verdicts")} deltas={at("deltas")} metric={report.metric} />
      <Bands dropout={at("dropout")} metric={report.metric} chosen={key} />
      <SideBySide lines={lines} metric={report.metric} note={report.note} />
      <CorrectedIou pu={at("pu")} />
      <Divergence divergence={at("divergence")} chosen={key} />
      <Labelled counts={at("counts")} labelling={at("labelling")} />
      <Limits />
    </>
  );
}

/** A report is being made, which takes long: how far it has come. */
function Waiting() {
  const now = useSparsityProgress().data;
  return (
    <div className="sparsity-waiting">
      <Spinner label="Making the report: the first time this may take half a minute" />
      {now?.making && (
        <p className="soft">
          {now.metric}: {now.step}
          {now.all > 0 && (
            <>
              {" "}
              <progress value={now.done} max={now.all} aria-label={now.step ?? "Making"} /> {count(now.done)} of {count(now.all)}
            </>
          )}
        </p>
      )}
    </div>
  );
}

export default function SparsityPage() {
  const [asked, setMetric] = useParam("metric");
  const metric = isReportable(asked) ? asked : "";
  const report = useSparsity(metric ? { metric } : {}, { keep: true });
  const stored = useMetricTable().data?.stored.filter(isReportable) ?? [];
  const now = report.data?.metric ?? metric;
  const tools = stored.length > 1 && now && (
    <Select
      label="Metric"
      value={now}
      options={stored.map((name) => ({ value: name, label: name }))}
      onChange={(name) => setMetric(name)}
    />
  );
  return (
    <Page title="Sparsity: what missing labels may have done" tools={tools} wide>
      {report.isFetching && (report.data === undefined || report.isPlaceholderData) && <Waiting />}
      {(report.data !== undefined || report.error) && <Loaded of={report}>{(found) => <Report report={found} />}</Loaded>}
    </Page>
  );
}
