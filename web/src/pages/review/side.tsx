/** One item beside the picture: what it is, why it is here, what was decided, what can be done. */
import { useId, useState, type CSSProperties } from "react";

import type { ReviewHistory, ReviewImage, ReviewItem, ReviewRegion } from "../../api/client";
import { fileUrl, type Result } from "../../api/queries";
import { Chip, Link, Loaded, Panel, type Tone } from "../../components";
import { score } from "../../format";
import { to } from "../../url";
import { undoable } from "./decide";
import { samePerson } from "./undo";
import { eventText, sourceText, timeText, whyText } from "./words";

const TONES: Readonly<Record<string, Tone>> = { accepted: "good", rejected: "bad", skipped: "doubt", open: "plain", withdrawn: "bad" };

export function StatusChip({ item }: { item: Pick<ReviewItem, "status" | "edited"> }) {
  return (
    <Chip tone={TONES[item.status] ?? "plain"}>
      {item.status}
      {item.edited && item.status === "accepted" ? ", changed" : ""}
    </Chip>
  );
}

interface CropProps {
  image: string;
  size: readonly [number, number];
  box: readonly number[];
  alt: string;
}

/** A part of the image with some room around it. */
export function Crop({ image, size, box, alt }: CropProps) {
  const [x0 = 0, y0 = 0, x1 = 1, y1 = 1] = box;
  const margin = 0.15 * Math.max(x1 - x0, y1 - y0);
  const [left, top] = [Math.max(0, x0 - margin), Math.max(0, y0 - margin)];
  const [width, height] = [Math.min(1, x1 + margin) - left, Math.min(1, y1 + margin) - top];
  const shape = (width * size[0]) / (height * size[1]);
  const frame: CSSProperties = { aspectRatio: shape, width: `${Math.min(7, 7 * shape)}rem` };
  const placed: CSSProperties = { width: `${100 / width}%`, left: `${(-100 * left) / width}%`, top: `${(-100 * top) / height}%` };
  return (
    <span className="review-crop" style={frame}>
      <img src={fileUrl(image)} alt={alt} style={placed} />
    </span>
  );
}

function Prompt({ detail, region }: { detail: ReviewImage; region: ReviewRegion }) {
  return (
    <figure className="review-prompt">
      <Crop image={detail.image} size={[detail.width ?? 1, detail.height ?? 1]} box={region.box} alt={`Annotated ${region.label}`} />
      <figcaption>
        Made from this annotated {region.label || "region"}: is the one in the picture another?
      </figcaption>
    </figure>
  );
}

interface AboutProps {
  item: ReviewItem;
  detail: ReviewImage;
  place: string;
}

export function About({ item, detail, place }: AboutProps) {
  const prompt = detail.given.find(({ index }) => index === item.prompt);
  return (
    <>
      <div className="review-title">
        <strong>{item.label || "(no label)"}</strong>
        <StatusChip item={item} />
      </div>
      <dl className="review-facts">
        <dt>Found</dt>
        <dd>{sourceText(item)}</dd>
        <dt>Score</dt>
        <dd>{item.score === null ? "none" : score(item.score, 2)}</dd>
        <dt>Image</dt>
        <dd>
          <Link href={to.image(item.image)}>{item.image}</Link>
        </dd>
        <dt>Place</dt>
        <dd>{place}</dd>
      </dl>
      <p className="note">{whyText(item, detail.attention)}</p>
      {prompt && <Prompt detail={detail} region={prompt} />}
    </>
  );
}

/** What was typed and not saved: it is there when one comes back. */
const typed = new Map<string, string>();

interface CommentProps {
  /** What it is about. */
  about: string;
  /** Says whether it was kept. */
  onComment: (text: string) => boolean;
}

/** Words about an item, kept as an event of their own. */
export function Comment({ about, onComment }: CommentProps) {
  const id = useId();
  const [text, setText] = useState(typed.get(about) ?? "");
  const type = (next: string) => {
    typed.set(about, next);
    setText(next);
  };
  const save = () => {
    if (text.trim() !== "" && onComment(text.trim())) type("");
  };
  return (
    <form
      className="review-comment"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <div className="field" id="review-comment">
        <label htmlFor={id}>Comment</label>
        <textarea
          id={id}
          rows={2}
          maxLength={4000}
          value={text}
          onChange={(event) => type(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      <button type="submit" className="button" disabled={text.trim() === ""}>
        Save comment
      </button>
    </form>
  );
}

interface HistoryProps {
  of: Result<ReviewHistory>;
  who: string;
  onUndo: (number: number) => void;
}

export function History({ of, who, onUndo }: HistoryProps) {
  return (
    <Panel title="History" level={3} className="review-history">
      <Loaded of={of}>
        {({ events }) => {
          const counting = undoable(events);
          if (events.length === 0) return <p className="note">Nobody has decided on it.</p>;
          return (
            <ol>
              {[...events].reverse().map((event) => (
                <li key={event.number} className={event.kind === "undo" || counting.has(event.number) ? undefined : "undone"}>
                  <span>{eventText(event)}</span>
                  <small className="soft">
                    event {event.number}, {timeText(event.at)}
                    {event.seconds === null ? "" : `, ${event.seconds} s`}
                  </small>
                  {counting.has(event.number) && samePerson(event.who) === samePerson(who) && (
                    <button type="button" className="button quiet" aria-label={`Undo event ${event.number}`} onClick={() => onUndo(event.number)}>
                      Undo
                    </button>
                  )}
                </li>
              ))}
            </ol>
          );
        }}
      </Loaded>
    </Panel>
  );
}
