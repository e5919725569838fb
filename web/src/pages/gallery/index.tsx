/** The gallery: all images of the study, the worst first, by any score, filter, tag or name. */
import { useEffect, useMemo, useState } from "react";

import type { Choice, Health, MetricTable, StudyInfo } from "../../api/client";
import { overlayUrl, thumbnailUrl, useHealth, useMetricTable, useStudy } from "../../api/queries";
import { Empty, ErrorNote, ExportMenu, Loaded, metricTitle, Page, Spinner } from "../../components";
import { metricParts } from "../../format";
import { useMarks } from "../../marks";
import { tagsByImage } from "../../tags";
import { to, type Params } from "../../url";
import type { CardLook } from "./card";
import { useGalleryKeys } from "./commands";
import { dataOf } from "./data";
import { filterBy, Filters, Scored } from "./filters";
import "./gallery.css";
import { Grid } from "./grid";
import { useItems, type Items } from "./items";
import { MarksPanel } from "./marks_panel";
import { usePick } from "./picked";
import { PickedBar } from "./picked_bar";
import { CountLine, Toolbar } from "./toolbar";
import { useNamed, usePlace, useView, type View } from "./view";
import { countFilters, namedParams, NO_FILTERS, type GalleryWords } from "./words";

/** Longer side of pictures on cards: twice the width of most, for dense screens. */
const CARD_PIXELS = 384;

interface BodyProps {
  study: StudyInfo;
  table: MetricTable;
}

interface LookProps extends BodyProps {
  view: View;
  named: readonly string[] | null;
  items: Items;
  health: Health | undefined;
}

function useLook({ view, named, items, study, table, health }: LookProps): CardLook {
  const { maps = false, pictures = true } = health ?? {};
  const metric = items.head?.metric ?? "";
  const choice = items.head?.choice;
  const { show } = view;
  // With the order and the filters, so that "next" on the image's page goes on as here.
  const { metric: _, ...words } = view.query;
  const address = JSON.stringify({ ...words, ...namedParams(view.words, named) });
  return useMemo(() => {
    const info = table.metrics.find((one) => one.name === metricParts(metric).metric);
    const overlay = maps && show === "overlay" && choice !== undefined;
    return {
      href: (image) => to.image(image, JSON.parse(address) as Params),
      picture: (image) => {
        if (!pictures) return null;
        return overlay ? overlayUrl(image, { ...mapWords(choice), size: CARD_PIXELS }) : thumbnailUrl(image, CARD_PIXELS, study.pictures);
      },
      metric: metricTitle(info, metric),
      bar: info?.low === 0 && info.high === 1,
    };
  }, [show, address, study, table, metric, choice, maps, pictures]);
}

function mapWords({ model, method, layer, head, target, seed }: Choice) {
  return { model, method, layer, head, target, seed };
}

function Nothing({ words }: { words: GalleryWords }) {
  const kept = words.tags.length > 0 || words.saved !== "";
  return (
    <Empty title="No image passes these filters">
      {kept && (
        <p>
          Tags and selections are kept in the browser in which they were made. Import them, or ask for a link that
          names the images.
        </p>
      )}
      {countFilters(words) > 0 && (
        <button type="button" className="button" onClick={() => filterBy(NO_FILTERS)}>
          Clear filters
        </button>
      )}
    </Empty>
  );
}

function SidePanels({ study, view, items }: { study: StudyInfo; view: View; items: Items }) {
  const [open, setOpen] = useState(false);
  const set = countFilters(view.words);
  return (
    <>
      <button
        type="button"
        className="button gallery-fold"
        aria-expanded={open}
        aria-controls="gallery-side"
        onClick={() => setOpen(!open)}
      >
        Filters{set > 0 ? ` (${set})` : ""} and tags
      </button>
      <aside id="gallery-side" className={open ? "open" : undefined} aria-label="Filters and tags">
        <Filters study={study} words={view.words} />
        <MarksPanel study={study.name} words={view.words} />
        <Scored study={study} asked={view.asked} choice={items.head?.choice} />
      </aside>
    </>
  );
}

function Body({ study, table }: BodyProps) {
  const view = useView(table);
  const named = useNamed(study.name, view.words);
  const place = usePlace(view.key);
  // The key stands for the query: it is the same while only the place changes.
  const query = useMemo(() => view.query, [view.key]);
  const [current, setCurrent] = useState(place.start);
  useEffect(() => setCurrent(place.start), [place.start, view.key]);
  const items = useItems(query, named, place.shown, current);
  const { marks } = useMarks(study.name);
  const tags = useMemo(() => tagsByImage(marks), [marks]);
  const health = useHealth().data;
  const look = useLook({ view, named, items, study, table, health });
  const { picked, pick } = usePick(items);
  useGalleryKeys({ items, current, picked, pick, view });
  const data = async () => dataOf(await items.all(), items.head?.metric ?? "value", tags);
  return (
    <Page
      wide
      title="Gallery"
      lead={items.head?.note}
      tools={<ExportMenu name={`${study.name}-images`} data={data} />}
    >
      <div className="gallery">
        <SidePanels study={study} view={view} items={items} />
        <div className="gallery-main">
          <Toolbar table={table} view={view} maps={health?.maps ?? false} />
          <CountLine
            words={view.words}
            total={items.head && items.total}
            all={study.images}
            metric={items.head?.metric ?? ""}
          />
          {health?.pictures === false && (
            <p className="note">The pictures cannot be shown: {health.missing["pictures"]}</p>
          )}
          {items.error && <ErrorNote error={items.error} retry={items.retry} />}
          {items.head === undefined && !items.error && <Spinner label="Loading images" />}
          {items.head !== undefined && items.total === 0 && <Nothing words={view.words} />}
          {items.total > 0 && (
            <Grid
              key={view.key}
              items={items}
              size={view.size}
              look={look}
              tags={tags}
              picked={picked}
              place={place}
              onPick={pick}
              current={Math.min(current, items.total - 1)}
              onCurrent={setCurrent}
            />
          )}
        </div>
      </div>
      <PickedBar study={study.name} picked={picked} words={view.choice} />
    </Page>
  );
}

/** The page. */
export default function Gallery() {
  const study = useStudy();
  const table = useMetricTable();
  return (
    <Loaded of={study} label="Loading the study">
      {(known) => <Loaded of={table}>{(metrics) => <Body study={known} table={metrics} />}</Loaded>}
    </Loaded>
  );
}
