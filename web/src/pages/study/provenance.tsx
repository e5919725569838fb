import { useState } from "react";

import type { StudyInfo } from "../../api/client";
import { exportUrl } from "../../api/queries";
import { Panel } from "../../components";
import { fileName, saveText } from "../../export";

export type Pair = readonly [string, string];

// The plan has its own panel, with what was left out.
const ELSEWHERE = new Set(["left_out"]);

/** Nested records as paths and texts. */
export function flatten(value: unknown, path = ""): Pair[] {
  if (Array.isArray(value)) {
    if (value.every((part) => typeof part !== "object")) return [[path, value.join(", ") || "none"]];
    return value.flatMap((part, index) => flatten(part, `${path} ${index + 1}`));
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, part]) => flatten(part, path === "" ? name : `${path} · ${name}`));
  }
  return [[path, value === null || value === undefined || value === "" ? "none" : String(value)]];
}

function titleOf(name: string): string {
  return (name[0]?.toUpperCase() ?? "") + name.slice(1).replaceAll("_", " ");
}

function lineOf(record: Record<string, unknown>): string {
  return Object.entries(record)
    .filter(([, part]) => part !== null && part !== "")
    .map(([name, part]) => (name === "model" ? String(part) : `${name} ${wordsOf(part)}`))
    .join(" · ");
}

function wordsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return flatten(value)
    .map(([path, text]) => `${path} ${text}`.trim())
    .join(", ");
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function Value({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.some((part) => typeof part === "object" && part !== null)) {
    return (
      <ul className="study-lines">
        {value.map((part, index) => (
          <li key={index}>{lineOf(part as Record<string, unknown>)}</li>
        ))}
      </ul>
    );
  }
  const pairs = flatten(value);
  if (pairs.length === 1 && pairs[0]?.[0] === "") return <code>{pairs[0][1]}</code>;
  return (
    <div className="study-pairs">
      {pairs.map(([path, text]) => (
        <span key={path}>
          <span className="soft">{path}</span> <code>{text}</code>
        </span>
      ))}
    </div>
  );
}

/** Versions, digests, machine: what made these numbers. */
export function Provenance({ study, version }: { study: StudyInfo; version: string }) {
  const parts = Object.entries(study.provenance).filter(([name, value]) => !ELSEWHERE.has(name) && !isEmpty(value));
  const save = () =>
    saveText(JSON.stringify(study.provenance, null, 2), fileName(`${study.name}-provenance`, "json"), "application/json");
  return (
    <Panel
      title="Provenance"
      tools={
        <button type="button" className="button quiet" onClick={save}>
          Save as JSON
        </button>
      }
    >
      <dl className="pairs">
        <dt>Folder</dt>
        <dd>
          <code>{study.path}</code>
        </dd>
        {version && (
          <>
            <dt>Shown by</dt>
            <dd>
              sightline <code>{version}</code>
            </dd>
          </>
        )}
        {parts.map(([name, value]) => (
          <PairOf key={name} name={name} value={value} />
        ))}
      </dl>
    </Panel>
  );
}

function PairOf({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <dt>{titleOf(name)}</dt>
      <dd>
        <Value value={value} />
      </dd>
    </>
  );
}

/** The study's file, to run it again. */
export function StudyFile({ study }: { study: StudyInfo }) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(study.yaml);
      setCopied("Copied");
    } catch {
      setCopied("The browser refused; select the text instead");
    }
  };
  return (
    <Panel
      title="Study file"
      note={
        <>
          Run it again with <code>sightline run study.yml</code>.
        </>
      }
      tools={
        <>
          <span role="status" className="soft">
            {copied}
          </span>
          <button type="button" className="button quiet" onClick={() => void copy()}>
            Copy
          </button>
          <a className="button quiet" href={exportUrl("study.yml")} download>
            Save
          </a>
        </>
      }
    >
      <pre className="study-yaml" tabIndex={0} aria-label="Study file">
        {study.yaml}
      </pre>
    </Panel>
  );
}
