import type { ReactNode } from "react";

import type { Progress } from "../../api/client";
import { useProgress } from "../../api/queries";
import { Chip, Loaded, Panel, type Tone } from "../../components";
import { count, plural } from "../../format";

/** Where a study stands, in a word. */
export function stateOf(progress: Progress): { tone: Tone; text: string } {
  if (progress.finished) return { tone: "good", text: "finished" };
  if (progress.running) return { tone: "doubt", text: "running" };
  return { tone: "bad", text: "stopped before its end" };
}

function hint(progress: Progress): ReactNode {
  if (progress.finished) return null;
  if (progress.running) return "What is stored is shown; all pages follow as more comes.";
  return (
    <>
      The same <code>sightline run</code> goes on where it stopped.
    </>
  );
}

function When({ time }: { time: string }) {
  const date = new Date(time);
  const text = Number.isNaN(date.getTime()) ? time : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
  return <time dateTime={time}>{text}</time>;
}

function Standing({ progress }: { progress: Progress }) {
  const { tone, text } = stateOf(progress);
  const share = progress.all === 0 ? 0 : progress.done / progress.all;
  const words = hint(progress);
  return (
    <>
      <p className="study-standing" role="status">
        <Chip tone={tone}>{text}</Chip> {count(progress.done)} of {plural(progress.all, "task")}
      </p>
      <div
        className="study-bar"
        role="progressbar"
        aria-label="Tasks stored"
        aria-valuemin={0}
        aria-valuemax={progress.all}
        aria-valuenow={progress.done}
      >
        <i style={{ width: `${share * 100}%` }} />
      </div>
      {words && <p className="note">{words}</p>}
      <dl className="pairs">
        <dt>Rows stored</dt>
        <dd>{count(progress.rows)}</dd>
        <dt>Last stored</dt>
        <dd>{progress.updated === null ? "nothing yet" : <When time={progress.updated} />}</dd>
      </dl>
    </>
  );
}

/** How far the study has come; asked again every few seconds while it runs. */
export function ProgressPanel() {
  const progress = useProgress();
  return (
    <Panel title="Progress">
      <Loaded of={progress}>{(data) => <Standing progress={data} />}</Loaded>
    </Panel>
  );
}
