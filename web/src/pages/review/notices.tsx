/** What waits to be saved, what was refused, who is here. */
import { useId, useState } from "react";

import { Panel } from "../../components";
import { lasting } from "./data";
import { canAgain, decideAgain } from "./decide";
import type { Aside, Entry } from "./outbox";
import type { Courier } from "./sending";
import type { Kept } from "./data";
import { conflictText, waitingText } from "./words";

interface NoticesProps {
  courier: Courier<Kept>;
  waiting: readonly Entry[];
  aside: readonly Aside[];
  problem: string;
  refused: string;
  /** Shows what a decision was about; missing: there is nothing to show. */
  onShow?: (entry: Entry) => void;
}

export function Notices({ courier, waiting, aside, problem, refused, onShow }: NoticesProps) {
  const dismiss = (one: Aside) => {
    courier.box.dismiss(one);
    courier.refresh();
  };
  return (
    <>
      <div role="status" className="review-waiting-room">
        {waiting.length > 0 && (problem !== "" || waiting.length > 1) && (
          <p className="review-waiting" data-testid="waiting">
            {waitingText(waiting.length, problem)}{" "}
            {problem !== "" && (
              <button type="button" className="button quiet" onClick={() => void courier.send()}>
                Try now
              </button>
            )}
          </p>
        )}
        {!lasting && <p className="review-waiting">This browser keeps nothing: leave the page only when all is saved.</p>}
      </div>
      {refused !== "" && (
        <p className="review-aside" role="alert">
          {refused}
        </p>
      )}
      {aside.map((one) => (
        <div key={one.entry.id} className="review-aside" role="alert">
          <p>{conflictText(one)}</p>
          <div className="tools">
            {onShow && (one.entry.mode === "gold" || one.entry.kind !== "draw") && (
              <button type="button" className="button" onClick={() => onShow(one.entry)}>
                Show it
              </button>
            )}
            {canAgain(one) && (
              <button type="button" className="button" onClick={() => decideAgain(courier, one)}>
                Decide again: {one.entry.kind}
              </button>
            )}
            <button type="button" className="button" onClick={() => dismiss(one)}>
              {canAgain(one) ? "Leave it as it is" : "Understood"}
            </button>
          </div>
        </div>
      ))}
    </>
  );
}

interface WhoProps {
  who: string;
  onWho: (who: string) => void;
  onCancel?: () => void;
}

const LONGEST = 60;

/** Asked once; every decision says who made it. */
export function WhoForm({ who, onWho, onCancel }: WhoProps) {
  const id = useId();
  const [text, setText] = useState(who);
  const name = text.trim().replace(/\s+/g, " ");
  return (
    <Panel title="Who are you?" note="Your name stands beside each decision, in the review and in what is exported from it.">
      <form
        className="review-who"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "") onWho(name);
        }}
      >
        <div className="field">
          <label htmlFor={id}>Name</label>
          <input id={id} type="text" value={text} maxLength={LONGEST} autoComplete="nickname" onChange={(event) => setText(event.target.value)} />
        </div>
        <button type="submit" className="button primary" disabled={name === ""}>
          Go on
        </button>
        {onCancel && (
          <button type="button" className="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </form>
    </Panel>
  );
}
