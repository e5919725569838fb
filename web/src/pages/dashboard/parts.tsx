/** Small pieces that several views share. */
import type { Choice } from "../../api/client";
import { useStudy } from "../../api/queries";
import { Chip } from "../../components";
import { layerName } from "./lines";
import { looksOf, type Looks } from "./looks";

/** Which maps are shown, and how they were chosen where nobody said. */
export function ChoiceNote({ choice }: { choice: Choice }) {
  const head = choice.head === null ? "" : `head ${choice.head}`;
  const parts = [choice.model, choice.method, layerName(choice.layer), head, choice.target];
  return (
    <p className="choice-note">
      <span className="soft">Shown:</span>{" "}
      {parts
        .filter((part) => part !== "")
        .map((part) => (
          <Chip key={part}>{part}</Chip>
        ))}{" "}
      {choice.why !== "" && <span className="soft">{choice.why}</span>}
    </p>
  );
}

/** Colours of the study's models. */
export function useLooks(): Looks {
  const study = useStudy().data;
  return looksOf((study?.models ?? []).map(({ name }) => name));
}

interface LeastProps {
  value: number;
  onChange: (value: number) => void;
}

/** The fewest regions that a label must have. */
export function LeastField({ value, onChange }: LeastProps) {
  const set = (text: string) => {
    const number = Math.round(Number(text));
    if (text.trim() !== "" && Number.isFinite(number)) onChange(Math.max(1, number));
  };
  return (
    <div className="field least">
      <label htmlFor="least-regions">At least so many regions</label>
      <input
        id="least-regions"
        type="number"
        min={1}
        step={1}
        value={value}
        onChange={(event) => set(event.target.value)}
      />
    </div>
  );
}
