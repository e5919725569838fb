/** All prototypes as cards: the patch, the class, the nature, relevance beside chance. */
import { useState } from "react";

import type { PrototypeBenchmark, PrototypeLine, PrototypeLines } from "../../api/client";
import { usePrototypeLines } from "../../api/queries";
import { Chip, Empty, ExportMenu, Link, Loaded, Pager, ScoreBar, Select } from "../../components";
import { percent, plural } from "../../format";
import { useNumberParam, useParam, useWord } from "../../url";
import { prototypeAddress } from "./address";
import { Detail } from "./detail";
import { NATURE_WORDS, NatureChips } from "./nature";
import { filtered, linesData, type Nature } from "./numbers";
import { PatchPicture } from "./picture";

const EACH = 60;
const NATURES = ["any", "known", "unknown", "undecided", "uncovered"] as const;

function Card({ of, line }: { of: PrototypeBenchmark; line: PrototypeLine }) {
  const relevance = line.energy_relevance;
  return (
    <li className="prototypes-card">
      <Link href={prototypeAddress(of.name, line.prototype)}>
        {of.score === "similarity" && <PatchPicture name={of.name} prototype={line.prototype} view="patch" size={140} />}
        <span className="name">
          {of.score === "similarity" ? `Prototype ${line.prototype}` : `Class ${line.prototype}`}
        </span>
      </Link>
      {line.label && <Chip tone="region">{line.label}</Chip>}
      <NatureChips line={line} />
      {relevance !== null && (
        <span className="prototypes-relevance">
          <ScoreBar value={relevance} chance={line.chance} />
          <small>
            {percent(relevance)} on the object, chance {percent(line.chance)}
          </small>
        </span>
      )}
      <small className="soft">{line.images === 0 ? "no image" : plural(line.images, "image")}</small>
    </li>
  );
}

function Cards({ of, answer }: { of: PrototypeBenchmark; answer: PrototypeLines }) {
  const [label, setLabel] = useParam("class");
  const [nature, setNature] = useWord<Nature>("nature", NATURES, "any");
  const [offset, setOffset] = useState(0);
  const labels = [...new Set(answer.lines.flatMap((line) => line.label ?? []))].sort();
  const lines = filtered(answer.lines, label, nature);
  const at = offset < lines.length ? offset : 0;
  const all = { value: "", label: "All classes" };
  return (
    <>
      <div className="prototypes-fields">
        <Select label="Class" value={label} options={[all, ...labels.map((one) => ({ value: one, label: one }))]} onChange={(next) => setLabel(next)} />
        <Select label="Nature" value={nature} options={NATURES.map((value) => ({ value, label: NATURE_WORDS[value] }))} onChange={(next) => setNature(next)} />
        <span className="soft" role="status">
          {lines.length} of {plural(answer.lines.length, "prototype")}
        </span>
        <ExportMenu name={`${of.name}-prototypes`} data={() => linesData(lines)} />
      </div>
      {answer.note && <p className="note">{answer.note}</p>}
      {lines.length === 0 && <Empty title="No prototype fits">Show all classes and natures.</Empty>}
      <ul className="prototypes-cards" aria-label="Prototypes">
        {lines.slice(at, at + EACH).map((line) => (
          <Card key={line.prototype} of={of} line={line} />
        ))}
      </ul>
      <Pager offset={at} limit={EACH} total={lines.length} onOffset={setOffset} label="Pages of prototypes" />
    </>
  );
}

export function Prototypes({ of }: { of: PrototypeBenchmark }) {
  const answer = usePrototypeLines(of.name);
  const [chosen] = useNumberParam("prototype", null);
  if (chosen !== null) return <Detail key={chosen} of={of} number={chosen} />;
  return (
    <Loaded of={answer} label="Loading the model and its prototypes">
      {(data) => <Cards of={of} answer={data} />}
    </Loaded>
  );
}

