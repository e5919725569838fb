/** The images before and after this one, in the order and by the filters of the gallery. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Query } from "../../api/ask";
import { Link } from "../../components";
import { to, useUrl, wordsOf, type Words } from "../../url";
import { everyNamed } from "../gallery/items";
import { useNamed } from "../gallery/view";
import { readWords } from "../gallery/words";

const FILTERS = ["text", "label", "style", "split", "warning", "sort", "ascending"] as const;

export interface Neighbours {
  before: string | null;
  after: string | null;
  /** From 1; null: the image is not among them. */
  place: number | null;
  total: number;
  link: (image: string) => string;
}

/** Words that keep their meaning on another image: neither a region nor a place on it. */
const OWN: readonly string[] = ["region", "box", "view"];

/** All images that pass the filters, in their order; asked for once, whichever of them is shown. */
function useOrder(query: Query, named: readonly string[] | null) {
  const client = useQueryClient();
  return useQuery({
    queryKey: ["order", query, named],
    queryFn: async () => (await everyNamed(client, query, named)).map((item) => item.image),
  });
}

export function useNeighbours(study: string, image: string): Neighbours {
  const { params } = useUrl();
  const named = useNamed(study, useMemo(() => readWords(params), [params]));
  const sorted = params.has("sort");
  const query: Query = { sort: "image", ascending: true };
  for (const name of FILTERS) if (params.has(name)) query[name] = params.get(name);
  // Scores matter only to an order by them; and a slider that moves must not ask for it anew.
  if (sorted) Object.assign(query, withoutRule(wordsOf(params)));
  const images = useOrder(query, named).data ?? [];
  const place = images.indexOf(image);
  const kept = Object.fromEntries([...params].filter(([name]) => !OWN.includes(name)));
  return {
    before: place > 0 ? (images[place - 1] ?? null) : null,
    after: place >= 0 ? (images[place + 1] ?? null) : null,
    place: place < 0 ? null : place + 1,
    total: images.length,
    link: (other) => to.image(other, kept),
  };
}

function withoutRule({ percentile: _, selection: __, ties: ___, metric: ____, ...words }: Words): Words {
  return words;
}

export function NeighbourLinks({ neighbours }: { neighbours: Neighbours }) {
  const { before, after, place, total, link } = neighbours;
  const step = (image: string | null, text: string, label: string) =>
    image === null ? (
      <span className="button" aria-disabled="true">{text}</span>
    ) : (
      <Link className="button" href={link(image)} aria-label={`${label}: ${image}`}>{text}</Link>
    );
  return (
    <nav className="image-neighbours" aria-label="Images before and after">
      {step(before, "‹", "Previous image")}
      <span className="soft">{place === null ? "" : `${place} of ${total}`}</span>
      {step(after, "›", "Next image")}
    </nav>
  );
}
