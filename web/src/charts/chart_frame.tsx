/** What every chart has around it: title, export, the numbers as a table, a note. */
import { useId, useRef, useState, type ReactNode } from "react";

import { ExportMenu } from "../components/export_menu";
import { Loaded } from "../components/states";
import type { Result } from "../api/queries";
import type { Cell, DataSet } from "../export";
import { score } from "../format";
import { figureOf } from "./figure";

export interface ChartFrameProps {
  title: ReactNode;
  /** Of exported files, without ending. */
  name: string;
  /** The numbers behind the chart, for CSV and the table. */
  data: () => DataSet;
  note?: ReactNode;
  /** Fields that belong to the chart. */
  tools?: ReactNode;
  /** Files that the service makes of the same figure. */
  links?: readonly { label: string; href: string }[];
  level?: 2 | 3;
  children: ReactNode;
  id?: string;
}

function cellText(cell: Cell): string {
  if (typeof cell === "number") return Number.isInteger(cell) ? String(cell) : score(cell, 4);
  return cell === null || cell === undefined ? "" : String(cell);
}

function Numbers({ data, label }: { data: DataSet; label: string }) {
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={label}>
      <table className="data">
        <caption className="hidden">{label}</caption>
        <thead>
          <tr>
            {data.columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} className={typeof cell === "number" ? "number" : undefined}>
                  {cellText(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A titled chart. The first `svg.chart` inside is what is exported, with title and key. */
export function ChartFrame({ title, name, data, note, tools, links, level = 2, children, id }: ChartFrameProps) {
  const [table, setTable] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const headingRef = useRef<HTMLHeadingElement>(null);
  const heading = useId();
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <section className="panel chart-frame" aria-labelledby={heading} id={id}>
      <header>
        <Heading id={heading} ref={headingRef}>{title}</Heading>
        <div className="tools">
          {tools}
          <button
            type="button"
            className="button quiet"
            aria-pressed={table}
            aria-label={`Table: ${name}`}
            onClick={() => setTable(!table)}
          >
            Table
          </button>
          <ExportMenu
            name={name}
            svg={table ? undefined : () => figureOf(box.current, headingRef.current?.textContent ?? name)}
            data={data}
            links={links}
          />
        </div>
      </header>
      <div ref={box} className="chart-body">
        {table ? <Numbers data={data()} label={`Numbers of ${name}`} /> : children}
      </div>
      {note && <p className="note">{note}</p>}
    </section>
  );
}

interface LoadedChartProps<T> extends Omit<ChartFrameProps, "data" | "children"> {
  of: Result<T>;
  data: (answer: T) => DataSet;
  children: (answer: T) => ReactNode;
}

/** A chart of an answer that may still be on its way. */
export function LoadedChart<T>({ of, data, children, ...frame }: LoadedChartProps<T>) {
  const answer = of.data;
  return (
    <ChartFrame {...frame} data={() => (answer === undefined ? { columns: [], rows: [] } : data(answer))}>
      <Loaded of={of}>{children}</Loaded>
    </ChartFrame>
  );
}
