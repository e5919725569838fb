/** Rating: people judge maps without knowing what made them. */
import { useState } from "react";

import { rating, ratingNext, ratingSummary, type RatingAgreement, type RatingAnswerAsked, type RatingLine, type RatingSummary, type RatingTask } from "../../api/client";
import { DataTable, Empty, Loaded, Page, Panel, tableData, ExportMenu, type Column } from "../../components";
import { interval, plural, score } from "../../format";
import { useKeys } from "../../keys";
import { useFlag } from "../../url";
import { Actions, type Action } from "../review/bar";
import { useAsked, useCourier, useInfo } from "../review/data";
import { useStopwatch } from "../review/hooks";
import { Notices } from "../review/notices";
import type { Draft } from "../review/outbox";
import "../review/review.css";
import { useWho } from "../review/who";
import "./rating.css";
import { answersOf, expectedOf, nextTask, type Answered } from "./steps";

type Answer = RatingAnswerAsked["answer"];

export default function RatingPage() {
  const info = useInfo();
  const { who, button, form } = useWho();
  return (
    <Page title="Rating" lead="Which maps do people find good? What made a map is not told until all questions are answered." tools={button}>
      <Loaded of={info} label="Loading the questions">
        {(data) => form ?? <Questions key={who} review={data.id} who={who} />}
      </Loaded>
    </Page>
  );
}

function Questions({ review, who }: { review: string; who: string }) {
  const { courier, waiting, aside, problem, refused } = useCourier(review);
  const about = useAsked(["rating", who], (signal) => rating({ who }, { signal }));
  const next = useAsked(["rating next", who], (signal) => ratingNext({ who }, { signal }));
  const [answered, setAnswered] = useState<readonly Answered[]>([]);
  const [again, setAgain] = useState<Answered | null>(null);
  const [open, setOpen] = useFlag("results");
  const own = waiting.filter((entry) => entry.to === "answer" && entry.who === who);
  const task = again?.task ?? nextTask(next.data?.task ?? null, own, answered.filter((one) => courier.box.numberOf(one.entry) !== null));
  const seconds = useStopwatch(task?.id ?? "");
  const give = (of: RatingTask, answer: Answer) => {
    const before = answered.find((one) => one.task.id === of.id) ?? null;
    const draft: Draft = {
      to: "answer", who, mode: "rating", kind: of.kind, image: of.image, item: of.id, after: { answer }, comment: "", seconds: seconds(),
      ...expectedOf(of, before, own), undoes: null, then: {},
    };
    const entry = courier.add(draft);
    if (entry === null) return;
    setAnswered([...answered.filter((one) => one.task.id !== of.id), { task: of, entry: entry.id, answer }]);
    setAgain(null);
  };
  const last = answered.filter((one) => one.task.id !== again?.task.id).at(-1) ?? null;
  const [tasks, done] = [next.data?.tasks ?? about.data?.tasks ?? 0, next.data?.done ?? about.data?.done ?? 0];
  const finished = task === null && own.length === 0;
  return (
    <>
      <Notices courier={courier} waiting={own} aside={aside.filter(({ entry }) => entry.to === "answer")} problem={problem} refused={refused} />
      <Loaded of={next} label="Loading the question">
        {(data) =>
          tasks === 0 ? (
            <Empty title="No questions are asked here">The review holds no questions about maps.</Empty>
          ) : task ? (
            <Question key={`${task.id} ${again !== null}`} task={task} chosen={again?.answer ?? null} onAnswer={(answer) => give(task, answer)} onBack={last ? () => setAgain(last) : null} place={again ? "Answered before; answer anew" : `Question ${done + own.length + 1} of ${tasks}`} />
          ) : finished && data.task === null ? (
            <Empty title="All questions are answered">
              Thank you. {last && <button type="button" className="button" onClick={() => setAgain(last)}>Change the last answer</button>}
            </Empty>
          ) : (
            <p className="note" role="status">
              Saving the answer …
            </p>
          )
        }
      </Loaded>
      {tasks > 0 && (
        <div className="review-progress">
          <div className="review-meter" role="progressbar" aria-label="Answered" aria-valuemin={0} aria-valuemax={tasks} aria-valuenow={done}>
            <i className="accepted" style={{ width: `${(100 * done) / tasks}%` }} />
          </div>
          <p className="review-counts">
            <b>
              {done} of {tasks} answered
            </b>
            {about.data && <span>{plural(about.data.people, "person", "people")} took part</span>}
          </p>
        </div>
      )}
      {(finished && next.data?.task === null && tasks > 0) || open ? (
        <Results who={who} unblind={!finished} />
      ) : (
        tasks > 0 && (
          <p className="note">
            Results are shown once you have answered all.{" "}
            <button type="button" className="button quiet" onClick={() => setOpen(true)}>
              Show them now: my further answers will not be blind
            </button>
          </p>
        )
      )}
    </>
  );
}

interface QuestionProps {
  task: RatingTask;
  chosen: Answer | null;
  onAnswer: (answer: Answer) => void;
  onBack: (() => void) | null;
  place: string;
}

function Question({ task, chosen, onAnswer, onBack, place }: QuestionProps) {
  const actions: Action[] = answersOf(task.kind).map(({ answer, label, key }) => ({ label, keys: key, run: () => onAnswer(answer), pressed: chosen === null ? undefined : chosen === answer }));
  useKeys("Rating", [
    ...answersOf(task.kind).map(({ answer, label, key }) => ({ keys: [key], label, run: () => onAnswer(answer), once: true })),
    { keys: ["u"], label: "change the last answer", run: () => onBack?.(), once: true },
  ]);
  const sides = task.right === null ? [["The map", task.left]] : [["Left map", task.left], ["Right map", task.right]];
  return (
    <Panel
      title={task.kind === "rate" ? "How well does this map show what matters in the image?" : "Which map shows better what matters in the image?"}
      className="rating-question"
      tools={onBack && <button type="button" className="button" onClick={onBack}>Change the last answer <kbd aria-hidden="true">u</kbd></button>}
      note={`${place} · ${task.image}`}
    >
      <div className={sides.length > 1 ? "rating-maps two" : "rating-maps"}>
        {sides.map(([name, url]) => (
          <figure key={name}>
            <img src={url} alt={`${name} over ${task.image}`} />
            {sides.length > 1 && <figcaption>{name}</figcaption>}
          </figure>
        ))}
      </div>
      <Actions label="Answer" actions={actions} />
    </Panel>
  );
}

function lineColumns(value: string): Column<RatingLine>[] {
  return [
    { key: "method", title: "Method", value: (line) => line.method },
    { key: "value", title: value, align: "right", value: (line) => line.value, render: (line) => `${score(line.value, 2)} ${interval(line.low, line.high, 2)}` },
    { key: "answers", title: "Answers", align: "right", value: (line) => line.answers },
    { key: "images", title: "Images", align: "right", value: (line) => line.images },
    { key: "people", title: "People", align: "right", value: (line) => line.people },
  ];
}

function agreementText(name: string, found: RatingAgreement): string {
  if (found.value === null) return `Agreement on ${name} is undefined: ${found.reason}`;
  return `Agreement on ${name} (Krippendorff's alpha): ${score(found.value, 2)} ${interval(found.low, found.high, 2)}, over ${plural(found.units, "question")}.`;
}

function Results({ who, unblind }: { who: string; unblind: boolean }) {
  const summary = useAsked(["rating summary", who, unblind], (signal) => ratingSummary({ who, unblind }, { signal }));
  return (
    <Loaded of={summary} label="Loading what people think">
      {(data) => <Summary data={data} />}
    </Loaded>
  );
}

function Summary({ data }: { data: RatingSummary }) {
  const tables = [
    { title: "Mean rating", lines: data.ratings, value: "1 to 5", agreement: agreementText("ratings", data.ratings_agreement) },
    { title: "Choices won", lines: data.wins, value: "Share", agreement: agreementText("choices", data.choices_agreement) },
    { title: "One beside another", lines: data.pairs, value: "First wins", agreement: "" },
  ].filter(({ lines }) => lines.length > 0);
  return (
    <>
      {data.unblinded && <p className="review-aside">Shown before you answered all: your further answers are not blind.</p>}
      {tables.map(({ title, lines, value, agreement }) => {
        const columns = lineColumns(value);
        return (
          <Panel key={title} title={title} note={agreement} tools={<ExportMenu name={`rating-${title.toLowerCase().replace(/ /g, "-")}`} data={() => tableData(columns, lines)} />}>
            <DataTable columns={columns} rows={lines} rowKey={(line) => line.method} caption={title} hideCaption />
          </Panel>
        );
      })}
      {tables.length === 0 && <Empty title="Nobody has answered yet" />}
      {data.note !== "" && <p className="note">{data.note}</p>}
    </>
  );
}
