/** One image, changed while one looks: original, focused and dual copies and their similarities. */
import type { Live, LiveAsked, PrototypeBenchmark } from "../../api/client";
import { usePrototypeLines, usePrototypeLive, usePrototypeMatches, type Result } from "../../api/queries";
import { ChartFrame, linear, useSize } from "../../charts";
import { Chip, Empty, ErrorNote, ExportMenu, Loaded, Panel, Select } from "../../components";
import { percent, score } from "../../format";
import { useKeys } from "../../keys";
import { useNumberParam, useParam } from "../../url";
import { useSettled } from "../image/settled";
import { Controls } from "./controls";
import { ImagePicture, PatchPicture } from "./picture";
import { firstSteps, readSteps, toggled, writeSteps, type Step } from "./steps";

const COPIES = ["original", "focused", "dual"] as const;
type Copy = (typeof COPIES)[number];
const COPY_WORDS: Readonly<Record<Copy, string>> = {
  original: "Original",
  focused: "Focused: changed where the attribution is high",
  dual: "Dual: changed where it is low",
};
const COLOURS: Readonly<Record<Copy, string>> = { original: "var(--soft)", focused: "var(--blue)", dual: "var(--orange)" };

const dropOf = (live: Live, copy: Copy): number | null => (copy === "original" ? null : live[`${copy}_drop`]);

function dropWords(drop: number | null): string {
  if (drop === null) return "drop undefined";
  return drop < 0 ? `gains ${percent(-drop, 1)}` : `drop ${percent(drop, 1)}`;
}

const BAR = { row: 30, left: 74, right: 118 };

/** The three similarities as bars from 0. */
function Bars({ live }: { live: Live }) {
  const [box, width] = useSize<HTMLDivElement>();
  const values = COPIES.map((copy) => live[copy] ?? 0);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const x = linear([low, high === low ? low + 1 : high], [BAR.left, Math.max(width - BAR.right, BAR.left + 40)]);
  const height = BAR.row * COPIES.length + 4;
  const said = COPIES.map((copy) => `${copy} ${score(live[copy])}`).join(", ");
  return (
    <div className="chart-box" ref={box}>
      <svg className="chart" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Similarities: ${said}`}>
        {COPIES.map((copy, index) => {
          const [value, y] = [live[copy], index * BAR.row];
          const [from, to] = [x(Math.min(0, value ?? 0)), x(Math.max(0, value ?? 0))];
          return (
            <g key={copy}>
              <text className="row-label" x={0} y={y + 19}>
                {copy}
              </text>
              <rect x={from} width={Math.max(1, to - from)} y={y + 6} height={18} style={{ fill: COLOURS[copy] }} />
              <text className="tick" x={to + 6} y={y + 19}>
                {score(value)}
                {copy !== "original" && ` (${dropWords(dropOf(live, copy))})`}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

async function sideBySide(live: Live): Promise<HTMLCanvasElement> {
  const pictures = await Promise.all(
    COPIES.map(async (copy) => {
      const image = new Image();
      image.src = live[`${copy}_png`];
      await image.decode();
      return image;
    }),
  );
  const canvas = document.createElement("canvas");
  canvas.width = pictures.reduce((sum, { naturalWidth }) => sum + naturalWidth, 0);
  canvas.height = Math.max(...pictures.map(({ naturalHeight }) => naturalHeight));
  let x = 0;
  for (const picture of pictures) {
    canvas.getContext("2d")?.drawImage(picture, x, 0);
    x += picture.naturalWidth;
  }
  return canvas;
}

function liveData(live: Live) {
  return {
    columns: ["image", "prototype", "row", "column", "attribution", "description", "copy", "similarity", "drop"],
    rows: COPIES.map((copy) => [live.image, live.prototype, ...live.cell, live.attribution, live.description, copy, live[copy], dropOf(live, copy)]),
  };
}

/** Where the cell lies that is compared, over a picture. */
function CellMark({ box }: { box: readonly number[] }) {
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = box;
  const at = { left: `${x0 * 100}%`, top: `${y0 * 100}%`, width: `${(x1 - x0) * 100}%`, height: `${(y1 - y0) * 100}%` };
  return <span className="prototypes-cell" style={at} aria-hidden="true" />;
}

function Shown({ of, live }: { of: PrototypeBenchmark; live: Live }) {
  const file = `${of.name}-${live.image}-prototype-${live.prototype}`;
  return (
    <>
      <Panel
        title={`${live.image} and prototype ${live.prototype}`}
        tools={<ExportMenu name={file} canvas={() => sideBySide(live)} data={() => liveData(live)} />}
        note={`${live.description}. The yellow frame is the cell that is compared: row ${live.cell[0]}, column ${live.cell[1]} of ${live.grid[0]} by ${live.grid[1]}.`}
      >
        <div className="prototypes-copies">
          {COPIES.map((copy) => (
            <figure key={copy}>
              <span className="prototypes-frame">
                <img src={live[`${copy}_png`]} alt={`${COPY_WORDS[copy]}, similarity ${score(live[copy])}`} width={224} height={224} />
                <CellMark box={live.box} />
              </span>
              <figcaption>
                {COPY_WORDS[copy]}
                <b data-copy={copy}>{score(live[copy])}</b>
                {copy !== "original" && <span>{dropWords(dropOf(live, copy))}</span>}
              </figcaption>
            </figure>
          ))}
          <figure>
            <ImagePicture name={of.name} image={live.image} prototype={live.prototype} view="heatmap" attribution={live.attribution} />
            <figcaption>Attribution: {live.attribution}</figcaption>
          </figure>
          <figure>
            <PatchPicture name={of.name} prototype={live.prototype} view="patch" />
            <figcaption>The prototype</figcaption>
          </figure>
        </div>
      </Panel>
      <ChartFrame title="Similarity" name={`${file}-similarity`} data={() => liveData(live)} level={3}>
        <Bars live={live} />
      </ChartFrame>
    </>
  );
}

interface Chosen {
  image: string;
  prototype: number | null;
  attribution: string;
  steps: Step[];
}

/** What the address asks for. */
function useChosen(of: PrototypeBenchmark) {
  const [image, setImage] = useParam("image", of.image_ids[0] ?? "");
  const [prototype, setPrototype] = useNumberParam("prototype", null);
  const [attribution, setAttribution] = useParam("attribution", of.attribution);
  const [text, setText] = useParam("steps");
  const steps = readSteps(text, of.offered) ?? firstSteps(of.perturbations, of.offered);
  const chosen: Chosen = { image, prototype, attribution, steps };
  return { chosen, setImage, setPrototype, setAttribution, setSteps: (next: readonly Step[]) => setText(writeSteps(next)) };
}

function bodyOf({ image, prototype, attribution, steps }: Chosen): LiveAsked {
  return { image, prototype, attribution, steps: steps.map(({ type, params }) => ({ type, params: { ...params } })) };
}

/** The prototypes that an image is most similar to, to choose from. */
function NearestPrototypes({ of, image, current, onChoose }: { of: PrototypeBenchmark; image: string; current: number | null; onChoose: (prototype: number | null) => void }) {
  const answer = usePrototypeMatches(of.name, image, { keep: true });
  const lines = answer.data?.lines ?? [];
  return (
    <div className="prototypes-nearest" role="group" aria-label="Most similar prototypes">
      <span className="soft">Nearest:</span>
      {lines.map((line, index) => {
        const pressed = current === line.prototype || (current === null && index === 0);
        return (
          <Chip key={line.prototype} tone={pressed ? "accent" : "plain"} pressed={pressed} onClick={() => onChoose(line.prototype)} title={`similarity ${score(line.score)} at row ${line.row}, column ${line.column}`}>
            {line.prototype}
            {line.label && ` ${line.label}`} · {score(line.score, 2)}
          </Chip>
        );
      })}
    </div>
  );
}

interface AnswerProps {
  of: PrototypeBenchmark;
  answer: Result<Live>;
  /** Whether no change is on. */
  none: boolean;
}

/** The similarities under the sliders, where a narrow screen has the pictures out of sight. */
function Readout({ answer, none }: Omit<AnswerProps, "of">) {
  if (none || answer.data === undefined || answer.error) return null;
  const live = answer.data;
  return (
    <p className={answer.isPlaceholderData ? "prototypes-readout asking" : "prototypes-readout"} aria-hidden="true">
      {COPIES.map((copy) => (
        <span key={copy}>
          {copy} <b>{score(live[copy])}</b>
        </span>
      ))}
    </p>
  );
}

function Answer({ of, answer, none }: AnswerProps) {
  if (none) return <Empty title="Nothing is changed">Turn a change on: its switch, or its key.</Empty>;
  if (answer.error) return <ErrorNote error={answer.error} retry={() => void answer.refetch()} />;
  return (
    <>
      <p className="prototypes-said" role="status">
        {answer.isPlaceholderData ? "Asking the model …" : answer.data?.sentence}
      </p>
      <Loaded of={answer} label="Loading the model">{(live) => <Shown of={of} live={live} />}</Loaded>
    </>
  );
}

export function LiveView({ of }: { of: PrototypeBenchmark }) {
  const { chosen, setImage, setPrototype, setAttribution, setSteps } = useChosen(of);
  const settled = useSettled(bodyOf(chosen));
  const none = settled.steps.length === 0;
  const live = of.offered.length > 0 && of.image_ids.length > 0;
  const answer = usePrototypeLive(of.name, settled, { keep: true, enabled: live && !none });
  const lines = usePrototypeLines(of.name).data?.lines ?? [];
  const step = (by: number) => {
    const at = of.image_ids.indexOf(chosen.image);
    const next = of.image_ids[(at + by + of.image_ids.length) % of.image_ids.length];
    if (next !== undefined) setImage(next);
  };
  useKeys("Live changes", [
    { keys: ["."], label: "next image", run: () => step(1) },
    { keys: [","], label: "image before", run: () => step(-1) },
    ...of.offered.map(({ type }, index) => ({ keys: [String(index + 1)], label: `${type} on or off`, run: () => setSteps(toggled(chosen.steps, of.offered, type)) })),
    { keys: ["0"], label: "as the benchmark's first change", run: () => setSteps(firstSteps(of.perturbations, of.offered)) },
  ]);
  if (!live) return <Empty title="Nothing runs live here">{of.note}</Empty>;
  const images = of.image_ids.includes(chosen.image) ? of.image_ids : [chosen.image, ...of.image_ids];
  const numbers = [{ value: "", label: "The most similar" }, ...lines.map((line) => ({ value: String(line.prototype), label: `${line.prototype}${line.label ? ` ${line.label}` : ""}` }))];
  const listed = chosen.prototype === null || lines.some((line) => line.prototype === chosen.prototype);
  const options = listed ? numbers : [...numbers, { value: String(chosen.prototype), label: String(chosen.prototype) }];
  return (
    <div className="prototypes-live">
      <div className="prototypes-side">
        <Panel title="Image and prototype">
          <div className="prototypes-fields">
            <Select label="Image" value={chosen.image} options={images.map((one) => ({ value: one, label: one }))} onChange={(next) => setImage(next)} />
            <Select label="Prototype" value={chosen.prototype === null ? "" : String(chosen.prototype)} options={options} onChange={(next) => setPrototype(next === "" ? null : Number(next))} />
            <Select
              label="Attribution"
              value={chosen.attribution}
              options={of.attributions.map((one) => ({ value: one.name, label: one.control ? `${one.name} (control)` : one.name }))}
              onChange={(next) => setAttribution(next)}
            />
          </div>
          <NearestPrototypes of={of} image={chosen.image} current={chosen.prototype} onChoose={(next) => setPrototype(next)} />
        </Panel>
        <Panel title="Changes" note="Done one after the other, in the order in which they were turned on.">
          <Controls of={of} steps={chosen.steps} onSteps={setSteps} />
          <Readout answer={answer} none={none} />
        </Panel>
      </div>
      <div className="prototypes-answer">
        <Answer of={of} answer={answer} none={none} />
      </div>
    </div>
  );
}
