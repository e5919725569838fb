/** Kinds of images: on which do maps agree with the annotation? */
import type { Breakdown } from "../../api/client";
import { exportUrl, useStyles } from "../../api/queries";
import { IntervalRows, LoadedChart, rankRows, type IntervalRow } from "../../charts";
import { Empty, MetricTip } from "../../components";
import type { DataSet } from "../../export";
import { plural } from "../../format";
import { useTitle } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { joined } from "./lines";
import { imagesBehind } from "./links";
import { ChoiceNote } from "./parts";

const dataOf = ({ lines }: Breakdown): DataSet => ({
  columns: ["label", "value", "low", "high", "chance", "ceiling", "n", "undefined"],
  rows: lines.map(({ label, n, undefined: missing, figures: [figure] }) => [
    ...[label, figure?.value, figure?.low, figure?.high, figure?.chance, figure?.ceiling],
    ...[n, missing],
  ]),
});

function rowsOf(answer: Breakdown): IntervalRow[] {
  return answer.lines.map(({ label, n, undefined: missing, figures: [figure] }) => ({
    key: label,
    label,
    detail: joined(plural(n, "image"), missing > 0 ? `${missing} undefined` : ""),
    value: figure?.value ?? null,
    low: figure?.low ?? null,
    high: figure?.high ?? null,
    chance: figure?.chance ?? null,
    ceiling: figure?.ceiling ?? null,
    href: imagesBehind(answer.choice, answer.metric, { style: label }),
  }));
}

export function StylesView() {
  const words = useViewWords("styles");
  const answer = useStyles(words, { keep: true });
  const metric = answer.data?.metric ?? "";
  const title = useTitle(metric);
  return (
    <>
      {answer.data && <ChoiceNote choice={answer.data.choice} />}
      <LoadedChart
        of={answer}
        title={metric === "" ? "By style" : <><MetricTip name={metric} /> by style</>}
        name="styles"
        data={dataOf}
        note={answer.data?.note}
        links={[{ label: "Every style as CSV", href: exportUrl("styles.csv", words) }]}
      >
        {(breakdown) =>
          breakdown.lines.length === 0 ? (
            <Empty title="No labels of images">The data set says nothing of its images but their regions.</Empty>
          ) : (
            <IntervalRows
              label={`${title} by style; each line opens its images`}
              rows={rankRows(rowsOf(breakdown))}
              axis={`mean ${title} over images`}
            />
          )
        }
      </LoadedChart>
    </>
  );
}
