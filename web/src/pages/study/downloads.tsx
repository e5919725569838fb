import { exportUrl } from "../../api/queries";
import { Empty, Panel } from "../../components";

export interface Download {
  /** Without ending. */
  stem: string;
  endings: string[];
}

const PICTURES = ["png", "svg", "pdf"];

/** Files that differ only in their ending stand together. */
export function grouped(names: readonly string[]): Download[] {
  const found = new Map<string, string[]>();
  for (const name of names) {
    const dot = name.lastIndexOf(".");
    const [stem, ending] = dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
    found.set(stem, [...(found.get(stem) ?? []), ending]);
  }
  return [...found].map(([stem, endings]) => ({ stem, endings }));
}

/** Figures with their numbers, and all else. */
export function sorted(names: readonly string[]): { figures: Download[]; tables: Download[] } {
  const all = grouped(names);
  const drawn = ({ endings }: Download) => endings.some((ending) => PICTURES.includes(ending));
  return { figures: all.filter(drawn), tables: all.filter((one) => !drawn(one)) };
}

function File({ stem, ending }: { stem: string; ending: string }) {
  const name = ending === "" ? stem : `${stem}.${ending}`;
  return (
    <a href={exportUrl(name)} download={name} aria-label={`Download ${name}`}>
      {ending.toUpperCase() || "file"}
    </a>
  );
}

function Files({ title, files }: { title: string; files: readonly Download[] }) {
  if (files.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="study-files">
        {files.map(({ stem, endings }) => (
          <li key={stem}>
            <span>{stem.replaceAll(/[_-]/g, " ")}</span>
            {endings.map((ending) => (
              <File key={ending} stem={stem} ending={ending} />
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** All files that the service makes of the study. */
export function Downloads({ names }: { names: readonly string[] }) {
  const { figures, tables } = sorted(names);
  return (
    <Panel title="Downloads" note="Made when asked for, of what is stored now. CSV of a figure: the numbers that it shows.">
      {names.length === 0 ? (
        <Empty title="Nothing to download yet">Files appear as soon as scores are stored.</Empty>
      ) : (
        <>
          <Files title="Tables and texts" files={tables} />
          <Files title="Figures" files={figures} />
        </>
      )}
    </Panel>
  );
}
