/** Sensitivity bands: what further gaps in the labels would do. */
import { useMemo } from "react";

import { BASELINE, ChartFrame, LineChart, type LineSeries } from "../../charts";
import { percent, score } from "../../format";
import { groupBy } from "../../tables";
import { numberOf, wordOf, type Line } from "./records";
import { about, isBaseline, keyOf, nameOf } from "./report";
import { Warning } from "./words";

/** What moves as labels are left out: the mean of the draws, its band, and the value with all labels. */
export function bandSeries(lines: readonly Line[], value: string, names: { drawn: string; whole: string }): LineSeries[] {
  const points = lines.map((line) => ({
    x: numberOf(line, "rate") ?? 0,
    y: numberOf(line, "mean"),
    low: numberOf(line, "low"),
    high: numberOf(line, "high"),
  }));
  const whole = lines.map((line) => ({ x: numberOf(line, "rate") ?? 0, y: numberOf(line, value) }));
  return [
    { key: "drawn", name: names.drawn, points, band: true },
    { key: "whole", name: names.whole, points: whole, look: { ...BASELINE, colour: "var(--vermillion)", dash: "6 4" } },
  ];
}

const rateText = (rate: number): string => percent(rate);

/** The numbers of bands, for CSV: no column is called an interval. */
export function bandData(lines: readonly Line[], keys: readonly string[]) {
  const numbers = ["rate", "mean", "low", "high", "emptied", "n"];
  return {
    columns: [...keys, "rate", "mean", "band_low", "band_high", "emptied", "n"],
    rows: lines.map((line) => [
      ...keys.map((key) => (typeof line.get(key) === "number" ? numberOf(line, key) : wordOf(line, key))),
      ...numbers.map((name) => numberOf(line, name)),
    ]),
  };
}

function useMeans(dropout: readonly Line[]): LineSeries[] {
  return useMemo(
    () =>
      [...groupBy(dropout, keyOf).values()].map((lines) => ({
        key: keyOf(lines[0]!),
        name: nameOf(lines[0]!),
        points: lines.map((line) => ({ x: numberOf(line, "rate") ?? 0, y: numberOf(line, "mean"), n: numberOf(line, "n") })),
        baseline: isBaseline(lines[0]!),
        band: false,
      })),
    [dropout],
  );
}

interface BandsProps {
  dropout: readonly Line[];
  metric: string;
  /** Of the line that the page is about. */
  chosen: string;
}

const KEYS = ["model", "method", "target", "layer", "value"];

/** Means over rates of all lines, each without its band. */
function AllLines({ dropout, metric }: BandsProps) {
  const shown = dropout.filter((line) => !isBaseline(line));
  const series = useMeans(shown.length ? shown : dropout);
  return (
    <ChartFrame
      level={3}
      title="All lines"
      name="sensitivity-all-lines"
      data={() => bandData(dropout, KEYS)}
      note="Means of the draws, without bands. How steep a line falls does not tell how many labels are missing already."
    >
      <LineChart
        label={`Mean ${metric} of all lines as labels are left out`}
        series={series}
        xLabel="Share of the labels left out"
        yLabel={metric}
        xFormat={rateText}
        xTicks={series[0]?.points.map(({ x }) => x)}
        markers={false}
      />
    </ChartFrame>
  );
}

/** How sensitive scores are to further gaps. */
export function Bands(props: BandsProps) {
  const { dropout, metric, chosen } = props;
  const lines = about(dropout, chosen);
  const first = lines[0];
  const last = lines[lines.length - 1];
  const series = useMemo(
    () => bandSeries(lines, "value", { drawn: "mean of the draws, with its sensitivity band", whole: "score with the labels as they are" }),
    [lines],
  );
  if (!first || !last) return null;
  const emptied = numberOf(last, "emptied");
  return (
    <section className="panel" aria-labelledby="sparsity-bands" id="bands">
      <header>
        <h2 id="sparsity-bands">How sensitive are the scores to further gaps?</h2>
      </header>
      <p>
        The mean {metric} when more labels are left out at random. Images are drawn anew each time: that alone makes the
        width of the band at 0%. Images that lose all their labels have no score; at {rateText(numberOf(last, "rate") ?? 0)}{" "}
        these are {percent(emptied, 1)} of them.
      </p>
      <Warning>
        <p>
          <b>This is a sensitivity band, not a confidence interval.</b> It says what further gaps would do, and nothing
          about where the score for a complete annotation lies. That a value lies inside a band does <b>not</b> mean that
          “only sparsity” keeps it low.
        </p>
      </Warning>
      <div className="grid-2 sparsity-charts">
        <ChartFrame
          level={3}
          title={nameOf(first)}
          name="sensitivity-band"
          data={() => bandData(lines, KEYS)}
          note="The band holds the middle 19 of 20 draws."
        >
          <LineChart
            label={`${metric} of ${nameOf(first)} as labels are left out, with its sensitivity band`}
            series={series}
            xLabel="Share of the labels left out"
            yLabel={metric}
            xFormat={rateText}
            yFormat={(y) => score(y)}
            xTicks={lines.map((line) => numberOf(line, "rate") ?? 0)}
          />
        </ChartFrame>
        <AllLines {...props} />
      </div>
    </section>
  );
}
