/** One menu for all that can be saved of a figure. */
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";

import { fileName, saveCanvas, saveCsv, savePng, saveSvg, saveText, type DataSet } from "../export";

export interface ExportMenuProps {
  /** Of the files, without ending. */
  name: string;
  /** The drawing, for SVG and PNG. */
  svg?: () => SVGSVGElement | null;
  /** A picture, for PNG. */
  canvas?: () => HTMLCanvasElement | null | Promise<HTMLCanvasElement | null>;
  /** The same picture as the text of an SVG file. */
  drawing?: () => string | null;
  /** The numbers, for CSV. */
  data?: () => DataSet | Promise<DataSet>;
  /** Files that the service makes. */
  links?: readonly { label: string; href: string }[];
  /** On the button. */
  label?: string;
}

interface Item {
  label: string;
  run?: () => void | Promise<void>;
  href?: string;
}

function itemsOf({ name, svg, canvas, drawing, data, links }: ExportMenuProps): Item[] {
  const items: Item[] = [];
  if (svg) {
    items.push({ label: "Figure as PNG", run: async () => void (await withDrawing(svg, (it) => savePng(it, name))) });
    items.push({ label: "Figure as SVG", run: async () => void (await withDrawing(svg, (it) => saveSvg(it, name))) });
  }
  if (canvas) {
    const save = async () => {
      const drawn = await canvas();
      if (drawn) await saveCanvas(drawn, name);
    };
    items.push({ label: "Picture as PNG", run: save });
  }
  if (drawing) {
    const save = () => {
      const text = drawing();
      if (text !== null) saveText(text, fileName(name, "svg"), "image/svg+xml");
    };
    items.push({ label: "Picture as SVG", run: save });
  }
  if (data) items.push({ label: "Data as CSV", run: async () => saveCsv(await data(), name) });
  for (const link of links ?? []) items.push({ label: link.label, href: link.href });
  return items;
}

async function withDrawing(
  find: () => SVGSVGElement | null,
  use: (svg: SVGSVGElement) => void | Promise<void>,
): Promise<void> {
  const svg = find();
  if (svg) await use(svg);
}

function step(menu: HTMLElement, by: number): void {
  const items = [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const now = items.indexOf(document.activeElement as HTMLElement);
  items[(now + by + items.length) % items.length]?.focus();
}

/** "Export": figure as PNG or SVG, data as CSV. */
export function ExportMenu(props: ExportMenuProps) {
  const [open, setOpen] = useState(false);
  const [failed, setFailed] = useState<string | null>(null);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const items = itemsOf(props);
  useEffect(() => {
    if (!open) return undefined;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const outside = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const run = async (item: Item) => {
    close();
    setFailed(null);
    try {
      await item.run?.();
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    }
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") step(event.currentTarget, 1);
    else if (event.key === "ArrowUp") step(event.currentTarget, -1);
    else if (event.key === "Tab") setOpen(false);
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  if (items.length === 0) return null;
  return (
    <div className="menu" ref={box}>
      <button
        ref={button}
        type="button"
        className="button quiet"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={`${props.label ?? "Export"}: ${props.name}`}
        onClick={() => setOpen(!open)}
      >
        {props.label ?? "Export"} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div role="menu" id={id} aria-label={`Export ${props.name}`} className="menu-list" onKeyDown={onKey}>
          {items.map((item) =>
            item.href ? (
              <a key={item.label} role="menuitem" tabIndex={-1} href={item.href} download onClick={close}>
                {item.label}
              </a>
            ) : (
              <button key={item.label} type="button" role="menuitem" tabIndex={-1} onClick={() => void run(item)}>
                {item.label}
              </button>
            ),
          )}
        </div>
      )}
      {failed && (
        <span role="alert" className="menu-failed">
          {failed}
        </span>
      )}
    </div>
  );
}
