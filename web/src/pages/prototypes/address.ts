/** Views of the page and their addresses. */
import { to, type Params } from "../../url";

export const VIEWS = ["overview", "prototypes", "live"] as const;
export type View = (typeof VIEWS)[number];

export const VIEW_INFO: Readonly<Record<View, { title: string; asks: string }>> = {
  overview: { title: "Overview", asks: "Are prototypes about the object, and what is their similarity made of?" },
  prototypes: { title: "Prototypes", asks: "What does each prototype show, what does it say, and what does it depend on?" },
  live: { title: "Live", asks: "What does the similarity do when one image is changed?" },
};

const address = (name: string, view: View, more: Params = {}): string =>
  to.prototypes({ name, view: view === "overview" ? null : view, ...more });

export const viewAddress = (name: string, view: View, kept: Params = {}): string => address(name, view, kept);

/** One prototype, and the perturbation that it is looked at for. */
export const prototypeAddress = (name: string, prototype: number, perturbation: string | null = null): string =>
  address(name, "prototypes", { prototype, perturbation });

/** An image with a prototype, to be changed; steps as the address writes them. */
export const liveAddress = (name: string, image: string, prototype: number | null, steps: string | null = null): string =>
  address(name, "live", { image, prototype, steps });
