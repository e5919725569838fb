import { thumbnailUrl, useDetectionImages } from "../../api/queries";
import type { DetectionImageSummary } from "../../api/client";
import { Empty, Link, Loaded, Pager, Panel } from "../../components";
import { plural } from "../../format";
import { useNumberParam } from "../../url";
import { behindWords, imageAddress, overviewAddress, tellBehind, type At, type Behind } from "./address";
import { StateSwatch } from "./mark";

const PER_PAGE = 48;

interface CardProps {
  at: At;
  behind: Behind;
  item: DetectionImageSummary;
}

const COUNTED = [
  ["TP", "tp", "true positive"],
  ["FP", "fp", "false positive"],
  ["FN", "fn", "false negative"],
] as const;

function ImageCard({ at, behind, item }: CardProps) {
  const what = behind.cell || behind.state ? plural(item.count, "such box", "such boxes") : plural(item.count, "error");
  return (
    <li className="detection-card">
      <Link href={imageAddress(at, item.image, behind)}>
        {item.shown ? (
          <img src={thumbnailUrl(item.image)} alt="" loading="lazy" />
        ) : (
          <span className="detection-blank">no picture stored</span>
        )}
        <span className="name">{item.image}</span>
        <span className="what">{what}</span>
      </Link>
      <ul className="detection-counts" aria-label="All boxes of this image">
        {COUNTED.map(([state, key, word]) => (
          <li key={state} title={plural(item[key], word)}>
            <StateSwatch state={state} />
            {item[key]} {state}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** The images behind a cell of the confusion matrix, or with the most errors. */
export function ImagesBehind({ at, behind }: { at: At; behind: Behind }) {
  const [offset, setOffset] = useNumberParam("offset", 0);
  const query = { ...behindWords(behind), confidence: at.confidence, limit: PER_PAGE, offset };
  const answer = useDetectionImages(at.name, query, { keep: true });
  return (
    <Panel
      title={tellBehind(behind)}
      id="images"
      tools={
        <Link className="button" href={overviewAddress(at)}>
          Back to the evaluation
        </Link>
      }
    >
      <Loaded of={answer} label="Looking for images">
        {({ items, total }) =>
          items.length === 0 ? (
            <Empty title="No such image">Nothing of this kind was found at this confidence.</Empty>
          ) : (
            <>
              <p className="note">{plural(total, "image")}, those with the most first. Open one to see its boxes.</p>
              <ul className="detection-cards">
                {items.map((item) => (
                  <ImageCard key={item.image} at={at} behind={behind} item={item} />
                ))}
              </ul>
              <Pager offset={offset} limit={PER_PAGE} total={total} onOffset={(next) => setOffset(next)} label="Pages of images" />
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}
