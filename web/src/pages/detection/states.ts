/** What can be true of a box, and how it looks: by colour, line, mark and word, each enough alone. */

export type State = "TP" | "FP" | "FN" | "found" | "ignored";

export interface StateLook {
  readonly state: State;
  /** Of the legend. */
  readonly title: string;
  readonly meaning: string;
  /** Okabe–Ito, so that people who see few colours can tell them apart. */
  readonly colour: string;
  /** Of text on that colour. */
  readonly ink: string;
  /** Of the line behind the outline, so that it is seen on light and dark pictures. */
  readonly halo: string;
  /** Of the outline, as SVG has it; empty: unbroken. */
  readonly dash: string;
  readonly width: number;
  readonly mark: "tick" | "cross" | "triangle" | "ring" | "none";
}

export const LOOKS: Record<State, StateLook> = {
  TP: {
    state: "TP",
    title: "True positive",
    meaning: "a prediction that finds a true box of its class",
    colour: "#0072B2",
    ink: "#FFFFFF",
    halo: "#FFFFFF",
    dash: "",
    width: 2.5,
    mark: "tick",
  },
  FP: {
    state: "FP",
    title: "False positive",
    meaning: "a prediction that finds no true box of its class",
    colour: "#D55E00",
    ink: "#000000",
    halo: "#FFFFFF",
    dash: "8 4",
    width: 2.5,
    mark: "cross",
  },
  FN: {
    state: "FN",
    title: "False negative",
    meaning: "a true box that no prediction finds",
    colour: "#F0E442",
    ink: "#000000",
    halo: "#000000",
    dash: "2 4",
    width: 3,
    mark: "triangle",
  },
  found: {
    state: "found",
    title: "True box, found",
    meaning: "a true box that a true positive covers",
    colour: "#56B4E9",
    ink: "#000000",
    halo: "#000000",
    dash: "",
    width: 1.25,
    mark: "ring",
  },
  ignored: {
    state: "ignored",
    title: "Not counted",
    meaning: "a crowd or difficult object, or a prediction that lies on one",
    colour: "#B0B0B0",
    ink: "#000000",
    halo: "#000000",
    dash: "1 3",
    width: 1.5,
    mark: "none",
  },
};

export const STATES: readonly State[] = ["TP", "FP", "FN", "found", "ignored"];

const isState = (word: string): word is State => (STATES as readonly string[]).includes(word);

const NONE = "none";

/** Read states out of the URL: words between commas; none known means all. */
export function readStates(text: string): State[] {
  if (text === NONE) return [];
  const asked = text.split(",").filter(isState);
  return asked.length ? STATES.filter((state) => asked.includes(state)) : [...STATES];
}

/** Write states as they stand in the URL; empty: all. */
export function writeStates(states: readonly State[]): string {
  if (states.length === STATES.length) return "";
  return states.length ? states.join(",") : NONE;
}
