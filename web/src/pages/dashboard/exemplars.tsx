/** Regions on which a head does best: what the number of a cell looks like. */
import { useEffect, useRef, type ReactNode } from "react";

import type { Exemplars, HeadMatrix } from "../../api/client";
import { overlayUrl, useExemplars } from "../../api/queries";
import { Link, Loaded, Panel, Score } from "../../components";
import { useUrl } from "../../url";
import { imageBehind, imagesBehind } from "./links";

const SHOWN = 8;

interface Picked {
  readonly layer: number;
  readonly head: number;
}

/** The head in the address, `layer.head`. */
export function readPick(word: string | null): Picked | null {
  const found = /^(\d{1,4})\.(\d{1,4})$/.exec(word ?? "");
  return found ? { layer: Number(found[1]), head: Number(found[2]) } : null;
}

function Pictures({ answer }: { answer: Exemplars }) {
  const { model, method, layer, head, target } = answer.choice;
  const words = { model, method, layer, head, target };
  return (
    <ul className="dashboard-pictures">
      {answer.items.map(({ image, region, value, chance }) => (
        <li key={`${image} ${region}`}>
          <Link href={imageBehind(image, answer.choice, answer.metric, region)}>
            <img src={overlayUrl(image, words)} alt="" loading="lazy" width="150" height="150" />
            <span className="name">{image}</span>
            {region !== null && <span className="soft">region {region}</span>}
            <Score value={value} chance={chance} stacked />
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Brings what was picked into sight, where it lies below the matrix. */
function InSight({ of, children }: { of: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(of);
  useEffect(() => {
    if (before.current !== of) box.current?.scrollIntoView({ block: "nearest" });
    before.current = of;
  }, [of]);
  return (
    <div ref={box} className="dashboard-aside">
      {children}
    </div>
  );
}

function Best({ matrix, picked, label }: { matrix: HeadMatrix; picked: Picked; label: string }) {
  const { model, method, target } = matrix.choice;
  const words = { model, method, target, metric: matrix.metric, ...picked };
  const answer = useExemplars({ ...words, label, limit: SHOWN }, { keep: true });
  return (
    <Panel title={`${label}: best of layer ${picked.layer}, head ${picked.head}`} note={answer.data?.note}>
      <Loaded of={answer}>{(data) => <Pictures answer={data} />}</Loaded>
      <p>
        <Link href={imagesBehind({ ...matrix.choice, ...picked }, matrix.metric, { label })}>
          All images with {label}
        </Link>
      </p>
    </Panel>
  );
}

/** The regions behind the cell that was picked; before that, what to do. */
export function ExemplarsPanel({ matrix }: { matrix: HeadMatrix }) {
  const { params } = useUrl();
  const picked = readPick(params.get("pick"));
  const label = params.get("of");
  return (
    <InSight of={`${params.get("pick")} ${label}`}>
      {picked === null || label === null ? (
        <Panel title="On which regions?">
          <p>Pick a cell to see the regions on which that head does best.</p>
        </Panel>
      ) : (
        <Best matrix={matrix} picked={picked} label={label} />
      )}
    </InSight>
  );
}
