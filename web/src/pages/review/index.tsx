/** Review: people decide on proposals, and annotate the gold set. */
import { reviewExportUrl, type ReviewInfo } from "../../api/client";
import { ExportMenu, Loaded, Page, Segmented } from "../../components";
import { setParams, useWord } from "../../url";
import { ProgressLine } from "./bar";
import { useCourier, useInfo, useLog } from "./data";
import { Gold } from "./gold";
import { Notices } from "./notices";
import type { Entry } from "./outbox";
import { Proposals } from "./proposals";
import "./review.css";
import { useWho } from "./who";

export { default as RatingPage } from "../rating";

const MODES = [
  { value: "review", label: "Proposals" },
  { value: "gold", label: "Gold set" },
] as const;

export default function ReviewPage() {
  const info = useInfo();
  const { who, button, form } = useWho();
  const [asked] = useWord("mode", ["review", "gold"], "review");
  const gold = info.data?.gold != null;
  const mode = info.data && !gold ? "review" : asked;
  const tools = (
    <>
      {gold && <Segmented label="What to do" hideLabel value={mode} options={MODES} onChange={(next) => setParams({ mode: next === "review" ? null : next, item: null, image: null, region: null, view: null })} />}
      {button}
      {info.data && <Exports info={info.data} />}
    </>
  );
  const lead =
    mode === "gold"
      ? "A few images, annotated completely and by eye alone: what estimates are corrected by."
      : "Regions that were proposed where annotations may be missing: is each of them right?";
  return (
    <Page title={mode === "gold" ? "Gold set" : "Review"} wide lead={lead} tools={tools}>
      <Loaded of={info} label="Loading the review">
        {(data) => form ?? <Working key={who} info={data} who={who} mode={mode} />}
      </Loaded>
    </Page>
  );
}

function Exports({ info }: { info: ReviewInfo }) {
  const completed = [
    { label: "Completed, JSON", href: reviewExportUrl({ which: "completed", format: "plain" }) },
    { label: "Completed, COCO", href: reviewExportUrl({ which: "completed", format: "coco" }) },
  ];
  const gold = [
    { label: "Gold, JSON", href: reviewExportUrl({ which: "gold", format: "plain" }) },
    { label: "Gold, COCO", href: reviewExportUrl({ which: "gold", format: "coco" }) },
  ];
  return <ExportMenu name="annotations" links={info.gold?.locked ? [...completed, ...gold] : completed} />;
}

interface WorkingProps {
  info: ReviewInfo;
  who: string;
  mode: "review" | "gold";
}

function Working({ info, who, mode }: WorkingProps) {
  const { courier, ...notes } = useCourier(info.id);
  const { waiting } = notes;
  const log = useLog(mode, who);
  const person = { who, mode, courier, waiting, log };
  const show = (entry: Entry) =>
    entry.mode === "gold"
      ? setParams({ mode: "gold", image: entry.image, region: entry.item, item: null, view: null })
      : setParams({ mode: null, item: entry.item, view: null });
  return (
    <>
      {mode === "review" && <ProgressLine info={info} who={who} />}
      {info.warnings.length > 0 && (
        <details className="review-warnings">
          <summary>What to know before using this review ({info.warnings.length})</summary>
          <ul>
            {info.warnings.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      <Notices courier={courier} {...notes} aside={notes.aside.filter(({ entry }) => entry.to === "event")} onShow={show} />
      {mode === "gold" ? <Gold person={person} /> : <Proposals info={info} person={person} />}
    </>
  );
}
