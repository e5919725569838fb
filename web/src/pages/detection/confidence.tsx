import type { Detection } from "../../api/client";
import { Slider } from "../../components";
import { score } from "../../format";
import { useNumberParam, type Setter } from "../../url";

const STEP = 0.01;

/** From which score to which the slider goes: 0 to 1, or further where detections do. */
export function scoreRange(evaluation: Pick<Detection, "curves">): [number, number] {
  let [low, high] = [0, 1];
  for (const { confidence } of evaluation.curves) {
    for (const one of confidence) {
      if (one !== null) [low, high] = [Math.min(low, one), Math.max(high, one)];
    }
  }
  return [Math.floor(low), Math.ceil(high)];
}

/** The confidence in the address; null: that with which the evaluation was stored. */
export const useConfidence = (): [number | null, Setter<number | null>] => useNumberParam<number | null>("confidence", null);

interface ConfidenceProps {
  evaluation: Detection;
  value: number;
  onChange: (value: number) => void;
}

/** From which confidence on predictions count. */
export function ConfidenceSlider({ evaluation, value, onChange }: ConfidenceProps) {
  const [low, high] = scoreRange(evaluation);
  return (
    <Slider
      label="Confidence from which on predictions count"
      value={value}
      min={low}
      max={high}
      step={STEP}
      text={score(value, 2)}
      onChange={onChange}
    />
  );
}

/** "confidence 0.25", as notes say it. */
export const atConfidence = ({ confidence }: Pick<Detection, "confidence">): string =>
  confidence === null ? "a confidence that was not stored" : `confidence ${score(confidence, 2)}`;
