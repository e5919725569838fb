/** What the similarity to a prototype depends on, in chips. */
import type { PrototypeLine } from "../../api/client";
import { Chip } from "../../components";
import { natureOf, type Nature } from "./numbers";

export const NATURE_WORDS: Readonly<Record<Nature, string>> = {
  any: "Any nature",
  known: "Depends on a perturbation",
  unknown: "Nature unknown",
  undecided: "Not decided",
  uncovered: "Never nearest",
};
const TONES = { known: "good", unknown: "bad", undecided: "doubt", uncovered: "plain" } as const;

/** What the similarity to a prototype depends on; colour never stands alone. */
export function NatureChips({ line }: { line: PrototypeLine }) {
  const kind = natureOf(line);
  const words = kind === "known" ? (line.nature ?? []) : [NATURE_WORDS[kind].toLowerCase()];
  return (
    <span className="prototypes-chips">
      {words.map((word) => (
        <Chip key={word} tone={TONES[kind]} title={line.told}>
          {word}
        </Chip>
      ))}
    </span>
  );
}
