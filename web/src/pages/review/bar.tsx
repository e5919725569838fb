/** Buttons for decisions, each with its key; and how far the review is. */
import type { ReviewInfo } from "../../api/client";
import { score } from "../../format";
import { keyLabel } from "../../keys";
import { samePerson } from "./undo";
import { leftText } from "./steps";
import { progressText } from "./words";

export interface Action {
  readonly label: string;
  /** One key, as `keyName` writes it. */
  readonly keys: string;
  readonly run: () => void;
  readonly tone?: "good" | "bad";
  readonly disabled?: boolean;
  readonly pressed?: boolean;
}

export function Actions({ label, actions }: { label: string; actions: readonly Action[] }) {
  return (
    <div className="review-actions" role="group" aria-label={label}>
      {actions.map(({ label: text, keys, run, tone, disabled, pressed }) => (
        <button key={text} type="button" className={`button ${tone ?? ""}`} disabled={disabled} aria-pressed={pressed} aria-keyshortcuts={keys} onClick={run}>
          {text} <kbd aria-hidden="true">{keyLabel(keys)}</kbd>
        </button>
      ))}
    </div>
  );
}

/** Shares of what is decided, as a bar and in words. */
export function ProgressLine({ info, who }: { info: ReviewInfo; who: string }) {
  const done = info.accepted + info.rejected;
  const left = info.items - done;
  const own = info.people.find((one) => samePerson(one.who) === samePerson(who))?.seconds_median;
  const seconds = own ?? info.seconds_median;
  const share = (part: number) => `${info.items === 0 ? 0 : (100 * part) / info.items}%`;
  return (
    <div className="review-progress">
      <div className="review-meter" role="progressbar" aria-label="Decided" aria-valuemin={0} aria-valuemax={info.items} aria-valuenow={done} aria-valuetext={`${done} of ${info.items} decided`}>
        <i className="accepted" style={{ width: share(info.accepted) }} />
        <i className="rejected" style={{ width: share(info.rejected) }} />
        <i className="skipped" style={{ width: share(info.skipped) }} />
      </div>
      <p className="review-counts" data-testid="progress">
        <b>
          {done} of {info.items} decided
        </b>
        <span>{progressText(info)}</span>
        <span>{left} not decided</span>
        {typeof seconds === "number" && <span>{score(seconds, 1)} s per item</span>}
        {leftText(left, seconds) !== "" && <span>{leftText(left, seconds)}</span>}
      </p>
    </div>
  );
}
