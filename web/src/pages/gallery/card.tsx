/** One image of the gallery. */
import { memo, useState, type MouseEvent } from "react";

import type { ImageSummary } from "../../api/client";
import { Link } from "../../components/link";
import { Chip, ScoreBar } from "../../components/pieces";
import { percent, score } from "../../format";
import type { Pick } from "./picked";
import { WARNING_MEANS } from "./words";

export interface CardLook {
  /** Address of the image's page. */
  readonly href: (image: string) => string;
  /** Address of the picture on the card; null: the store has none. */
  readonly picture: (image: string) => string | null;
  /** Title of the metric whose values stand on the cards. */
  readonly metric: string;
  /** Whether values lie between 0 and 1, so that a bar can show them. */
  readonly bar: boolean;
}

interface CardProps {
  readonly item: ImageSummary;
  readonly index: number;
  readonly look: CardLook;
  readonly tags: readonly string[];
  readonly picked: boolean;
  /** Whether Tab stops here. */
  readonly current: boolean;
  readonly onPick: Pick;
}

/** What a card says, in one line for those who hear it. */
function spoken(item: ImageSummary, metric: string, tags: readonly string[]): string {
  const parts = [
    item.image,
    `${metric} ${score(item.value)}`,
    item.chance === null ? "" : `chance ${score(item.chance)}`,
    item.ceiling === null ? "" : `ceiling ${score(item.ceiling)}`,
    ...item.labels,
    ...item.warnings,
    tags.length > 0 ? `tags ${tags.join(", ")}` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function warningText(item: ImageSummary, warning: ImageSummary["warnings"][number]): string {
  const seen = warning === "cropped" && item.visible !== null ? ` It saw ${percent(item.visible)} of it.` : "";
  return WARNING_MEANS[warning] + seen;
}

function Chips({ item, tags }: { item: ImageSummary; tags: readonly string[] }) {
  return (
    <div className="gallery-card-chips">
      {item.warnings.map((warning) => (
        <Chip key={warning} tone="doubt" title={warningText(item, warning)}>
          {warning}
        </Chip>
      ))}
      {tags.map((tag) => (
        <Chip key={`tag ${tag}`} tone="accent" title={`Tag: ${tag}`}>
          {tag}
        </Chip>
      ))}
      {item.labels.map((label) => (
        <Chip key={`label ${label}`}>{label}</Chip>
      ))}
    </div>
  );
}

function Numbers({ item, look }: { item: ImageSummary; look: CardLook }) {
  const beside = [
    item.chance === null ? "" : `chance ${score(item.chance, 2)}`,
    item.ceiling === null ? "" : `ceiling ${score(item.ceiling, 2)}`,
  ].filter((part) => part !== "");
  return (
    <div className="gallery-card-numbers">
      <span className="gallery-card-score">
        <b className={item.value === null ? "missing" : undefined}>{score(item.value)}</b>
        <small>{beside.join(" · ")}</small>
      </span>
      {look.bar && <ScoreBar value={item.value} chance={item.chance} ceiling={item.ceiling} />}
    </div>
  );
}

/** A picture, or words where there is none. */
function Picture({ url }: { url: string | null }) {
  const [failed, setFailed] = useState<string | null>(null);
  if (url === null || url === failed) return <span className="gallery-card-none">no picture</span>;
  return <img src={url} alt="" loading="lazy" decoding="async" draggable={false} onError={() => setFailed(url)} />;
}

export const Card = memo(function Card({ item, index, look, tags, picked, current, onPick }: CardProps) {
  const stop = current ? 0 : -1;
  const onClick = (event: MouseEvent) => {
    if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    void onPick(index, event.shiftKey);
  };
  return (
    <article className={picked ? "gallery-card picked" : "gallery-card"}>
      <Link
        href={look.href(item.image)}
        tabIndex={stop}
        draggable={false}
        aria-label={spoken(item, look.metric, tags)}
        onClick={onClick}
      >
        <Picture url={look.picture(item.image)} />
        <span className="gallery-card-name" title={item.image}>
          {item.image}
        </span>
      </Link>
      <label className="gallery-card-pick">
        <input
          type="checkbox"
          checked={picked}
          tabIndex={stop}
          aria-label={`Pick ${item.image}`}
          // The click knows of Shift; the change alone does not.
          onClick={(event) => void onPick(index, event.shiftKey)}
          onChange={() => undefined}
        />
      </label>
      <Numbers item={item} look={look} />
      <Chips item={item} tags={tags} />
    </article>
  );
});

/** A card whose image is still on its way. */
export function EmptyCard() {
  return <article className="gallery-card waiting" aria-hidden="true" />;
}
