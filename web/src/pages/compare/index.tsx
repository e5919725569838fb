/** Compare: two to four maps of one image, seen at the same place. */
import { useCallback, useMemo, useRef, useState } from "react";

import type { ImageDetail, StudyInfo } from "../../api/client";
import { useMap, type DecodedMap } from "../../api/map";
import { useImage, useImages, useStudy, type Result } from "../../api/queries";
import { Empty, ExportMenu, Link, Loaded, Page } from "../../components";
import { drawnOf, isScored, rangeOf, type Look, type Spot, type ViewerHandle } from "../../viewer";
import { to } from "../../url";
import { useScored, type ScoredMap } from "../image/scored";
import { missedText, ruleWords } from "../image/state";
import type { Rule } from "../../numeric";
import "./compare.css";
import { Controls } from "./controls";
import { differenceOf, oneScale, type Difference, type Unit } from "./difference";
import { Numbers } from "./numbers";
import { OverAll } from "./over_all";
import { letterOf } from "./pane";
import { ImagePicker } from "./picker";
import { Differences, SideBySide, Swiped, type Filled, type PanesProps } from "./panes";
import { framesOf, sideBySide, sideBySideSvg, swiped, swipedSvg, valuesOf, type Shown } from "./picture";
import { useCompared, type Compared, type Mode } from "./state";
import { asked, overAllQuery, PANES, paneTitle, type Pane } from "./words";

interface Loading {
  readonly result: Result<DecodedMap>;
  readonly map: DecodedMap | null;
  readonly scored: ScoredMap | null;
}

/** The map of a pane; null for a pane that is not there. A map of another image is not shown. */
function usePaneMap(image: string, pane: Pane | undefined, region: number | null, rule: Rule): Loading {
  const result = useMap(image, pane === undefined ? null : asked(pane));
  const map = result.data !== undefined && result.data.header.image === image ? result.data : null;
  const scored = useScored(map ?? undefined, region, rule);
  return { result, map, scored };
}

function lookOf(compared: Compared, map: DecodedMap | null, scale: readonly [number, number]): Look {
  const sign = map?.header.choice.sign;
  const colours = sign === "signed" ? "rdbu" : compared.colours;
  return { opacity: compared.opacity, colours, smooth: compared.smooth, scale };
}

/** Always four, as what hooks depend on must not change in number. */
function four<T>(some: readonly T[]): readonly (T | undefined)[] {
  return PANES.map((_, index) => some[index]);
}

/** All panes with their maps, scores and scales. */
function useFilled(image: string, compared: Compared, region: number | null): Filled[] {
  const [a, b, c, d] = compared.panes;
  const { rule } = compared;
  // Hooks are called for four panes, whether they are there or not.
  const loading = [
    usePaneMap(image, a, region, rule),
    usePaneMap(image, b, region, rule),
    usePaneMap(image, c, region, rule),
    usePaneMap(image, d, region, rule),
  ];
  const maps = loading.slice(0, compared.panes.length).map((one) => one.map);
  const drawn = useMemo(() => maps.map((map) => map && drawnOf(map)), four(maps));
  const signed = isSigned(loading);
  const all = useMemo(() => oneScale(drawn, signed), [drawn, signed]);
  return compared.panes.map((pane, index) => {
    const one = loading[index] as Loading;
    const shown = drawn[index] ?? null;
    const own: readonly [number, number] = shown && one.map ? rangeOf(shown, "image", one.map.header) : [0, 1];
    return { ...one, pane, drawn: shown, look: lookOf(compared, one.map, compared.scale === "one" ? all : own) };
  });
}

function isSigned(some: readonly { map: DecodedMap | null }[]): boolean {
  return some.some(({ map }) => map?.header.choice.sign === "signed");
}

/** Values have one unit within a method; between methods, shares of the sum are compared. */
function unitOf(filled: readonly Filled[]): Unit {
  const methods = new Set(filled.map(({ pane, map }) => map?.header.choice.method ?? pane.method));
  return methods.size > 1 ? "share" : "values";
}

function useDifferences(filled: readonly Filled[], unit: Unit, on: boolean): (Difference | null)[] {
  const drawn = filled.map((one) => one.drawn);
  return useMemo(() => {
    const [first, ...rest] = drawn;
    if (!on) return [];
    return rest.map((one) => (first && one ? differenceOf(first, one, unit) : null));
  }, [...four(drawn), unit, on]);
}

/** The panes with the model and method that stand for what was left open. */
function named({ pane, map }: Filled): Pane {
  const choice = map?.header.choice;
  return { ...pane, model: pane.model || (choice?.model ?? ""), method: pane.method || (choice?.method ?? "") };
}

function useOverAll(filled: readonly Filled[], other: number) {
  const [first, second] = [filled[0], filled[other]];
  if (first === undefined || second === undefined) return null;
  const layers = [first.map?.header.choice.layer ?? null, second.map?.header.choice.layer ?? null] as const;
  return overAllQuery(named(first), named(second), layers);
}

/** What is drawn, held for export. */
function usePicture(compared: Compared, titles: readonly string[]) {
  const handles = useRef<(ViewerHandle | null)[]>([]);
  const handle = useCallback(
    (index: number) => (held: ViewerHandle | null) => {
      handles.current[index] = held;
    },
    [],
  );
  const canvas = () => {
    const [under, over] = handles.current.map((held) => held?.canvas() ?? null);
    if (compared.mode === "swipe" && under && over) return swiped(under, over, compared.swipe);
    const frames = framesOf(handles.current.slice(0, titles.length), titles);
    return frames.length === 0 ? null : sideBySide(frames);
  };
  const drawing = () => {
    const pictures = handles.current.slice(0, titles.length).flatMap((held) => held?.svg() ?? []);
    const [under, over] = pictures;
    if (compared.mode === "swipe" && under && over) return swipedSvg(under, over, compared.swipe);
    return pictures.length === 0 ? null : sideBySideSvg(pictures, titles);
  };
  return { handle, canvas, drawing };
}

/** What the view shows, for export as numbers. */
function shownOf(compared: Compared, filled: readonly Filled[], differences: readonly (Difference | null)[]): Shown[] {
  const maps = filled.map((one, index) => {
    const title = `${letterOf(index)} ${paneTitle(one.map?.header.choice ?? one.pane)}`;
    return { title, drawn: one.drawn, outline: one.scored?.outline ?? null };
  });
  if (compared.mode === "side") return maps;
  if (compared.mode === "swipe") return maps.filter((_, index) => index === 0 || index === compared.other);
  const less = differences.map((one, index) => {
    const drawn = one !== null && "drawn" in one ? one.drawn : null;
    return { title: `${letterOf(index + 1)} less A`, drawn, outline: null };
  });
  return [...maps.slice(0, 1), ...less];
}

/** What stands before the name of a map in a picture that is saved. */
function lead(mode: Mode, index: number): string {
  return mode === "difference" && index > 0 ? `${letterOf(index)} − A: ${letterOf(index)}` : letterOf(index);
}

const MODES = { side: SideBySide, swipe: Swiped, difference: Differences } as const;

function Body({ study, detail, compared }: { study: StudyInfo; detail: ImageDetail; compared: Compared }) {
  const [cursor, setCursor] = useState<Spot | null>(null);
  const asked = detail.regions.find((one) => one.index === compared.region) ?? null;
  const region = asked !== null && isScored(asked) ? asked : null;
  const filled = useFilled(detail.image, compared, region?.index ?? null);
  const unit = unitOf(filled);
  const differences = useDifferences(filled, compared.unit ?? unit, compared.mode === "difference");
  const titles = filled.map(({ pane, map }) => paneTitle(map?.header.choice ?? pane));
  const lettered = titles.map((title, index) => `${lead(compared.mode, index)} ${title}`);
  const { handle, canvas, drawing } = usePicture(compared, lettered);
  const query = useOverAll(filled, compared.other);
  const Panes = MODES[compared.mode];
  const panes: PanesProps = { study, detail, compared, cursor, onCursor: setCursor, filled, differences, handle };
  return (
    <Page
      wide
      title="Compare"
      lead={
        <>
          <Link href={to.image(detail.image, { ...ruleWords(compared.rule), region: region?.index })}>{detail.image}</Link>
          {detail.labels.length > 0 && ` · ${detail.labels.join(", ")}`}
        </>
      }
      tools={<ExportMenu name={`${detail.image}-${compared.mode}`} label="Export picture" canvas={canvas} drawing={drawing} data={() => valuesOf(shownOf(compared, filled, differences))} />}
    >
      <Controls study={study} compared={compared} image={detail.image} unit={unit} signed={!isSigned(filled) ? "none" : filled.every((one) => isSigned([one])) ? "all" : "some"} />
      <Panes {...panes} />
      <div className="compare-below">
        <Numbers
          image={detail.image}
          sides={filled.map(({ scored }, index) => ({ title: titles[index] ?? "", scores: scored?.scores ?? null }))}
          rule={compared.rule}
          region={region}
          missed={compared.region !== null && region === null ? missedText(compared.region, asked ?? undefined) : ""}
        />
        <OverAll query={query} metric={compared.metric} other={compared.other} image={detail.image} />
      </div>
    </Page>
  );
}

/** The image of the address, or the first by name. */
function WithImage({ study }: { study: StudyInfo }) {
  const compared = useCompared(study);
  const first = useImages({ sort: "image", ascending: true, limit: 1 }, { enabled: compared.image === "" });
  const image = compared.image || (first.data?.items[0]?.image ?? "");
  const detail = useImage(image, { enabled: image !== "", keep: true });
  if (image === "") {
    return (
      <Page title="Compare">
        <Loaded of={first}>{() => <Empty title="The study has no images yet" />}</Loaded>
      </Page>
    );
  }
  if (detail.data !== undefined) return <Body study={study} detail={detail.data} compared={compared} />;
  return (
    <Page title="Compare">
      {detail.error && <ImagePicker image={image} />}
      <Loaded of={detail} label="Loading the image">{() => null}</Loaded>
    </Page>
  );
}

/** The page. */
export default function Compare() {
  const study = useStudy();
  if (study.data !== undefined) return <WithImage study={study.data} />;
  return (
    <Page title="Compare">
      <Loaded of={study} label="Loading the study">{() => null}</Loaded>
    </Page>
  );
}
