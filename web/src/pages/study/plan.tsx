import { useMemo } from "react";

import type { StudyInfo, Table } from "../../api/client";
import { DataTable, ExportMenu, Panel, tableData, type Column } from "../../components";
import type { Cell } from "../../export";
import { plural } from "../../format";

export type PlanLine = Record<string, Cell>;

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : JSON.stringify(value);
}

/** A table of the API as records. */
export function linesOf(table: Table): PlanLine[] {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((name, at) => [name, cellOf(row[at])])));
}

/** Columns in which no line says anything are left out. */
export function toldColumns(table: Table, lines: readonly PlanLine[]): string[] {
  return table.columns.filter((name) => lines.some((line) => line[name] !== null && line[name] !== ""));
}

function Done({ line }: { line: PlanLine }) {
  const [done, tasks] = [Number(line["done"] ?? 0), Number(line["tasks"] ?? 0)];
  return (
    <span className="study-done">
      <span className="study-bar" aria-hidden="true">
        <i style={{ width: `${tasks === 0 ? 0 : (done / tasks) * 100}%` }} />
      </span>
      {done} of {tasks}
    </span>
  );
}

function titleOf(name: string): string {
  return (name[0]?.toUpperCase() ?? "") + name.slice(1);
}

function columnOf(name: string): Column<PlanLine> {
  if (name === "done") {
    return { key: name, title: "Stored", value: (line) => line[name], render: (line) => <Done line={line} />, align: "right" };
  }
  const number = ["layers", "heads"].includes(name);
  // 0 layers or heads: the method has none, or they were fused.
  const render = (line: PlanLine) => (number && line[name] === 0 ? "" : String(line[name] ?? ""));
  return { key: name, title: titleOf(name), value: (line) => line[name], render, align: number ? "right" : "left" };
}

interface LeftOut {
  model?: string;
  method?: string;
  why?: string;
}

function leftOut(provenance: Record<string, unknown>): LeftOut[] {
  const lines = provenance["left_out"];
  return Array.isArray(lines) ? (lines as LeftOut[]) : [];
}

/** A line for each source of maps, and what was left out and why. */
export function Plan({ study }: { study: StudyInfo }) {
  const lines = useMemo(() => linesOf(study.plan), [study.plan]);
  const columns = useMemo(
    () => toldColumns(study.plan, lines).filter((name) => name !== "tasks").map(columnOf),
    [study.plan, lines],
  );
  const missing = leftOut(study.provenance);
  return (
    <Panel
      title="Plan"
      tools={<ExportMenu name={`${study.name}-plan`} data={() => tableData(columns, lines)} />}
      note={study.plan.note || undefined}
    >
      <DataTable
        columns={columns}
        rows={lines}
        rowKey={(_, index) => String(index)}
        caption={`${plural(lines.length, "source")} of maps`}
        shown={40}
      />
      {missing.length > 0 && (
        <details className="study-more">
          <summary>{plural(missing.length, "combination")} left out</summary>
          <ul>
            {missing.map((line, index) => (
              <li key={index}>
                {line.model} · {line.method}: <span className="soft">{line.why}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}
