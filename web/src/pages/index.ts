/** The pages, each loaded when it is first opened. */
import { type ComponentType, type LazyExoticComponent } from "react";

import type { Health } from "../api/client";
import { carried, href, type Words } from "../url";
import { lazyPage } from "./load";

export interface PageInfo {
  name: string;
  title: string;
  /** Of the address; `/image/` takes a name after it. */
  path: string;
  /** Key after `g`. */
  key?: string;
  /** About one choice of maps, which links to it take along; the others are about all until filtered. */
  single?: boolean;
  /** Whether the store has what it shows; always unless given. */
  has?: (health: Health) => boolean;
  component: LazyExoticComponent<ComponentType>;
}

export const PAGES: readonly PageInfo[] = [
  { name: "gallery", title: "Gallery", path: "/", key: "g", single: true, component: lazyPage(() => import("./gallery")) },
  { name: "compare", title: "Compare", path: "/compare", key: "c", single: true, component: lazyPage(() => import("./compare")) },
  { name: "dashboard", title: "Dashboard", path: "/dashboard", key: "d", component: lazyPage(() => import("./dashboard")) },
  {
    name: "detection",
    title: "Detection",
    path: "/detection",
    key: "t",
    has: (health) => health.detection.length > 0,
    component: lazyPage(() => import("./detection")),
  },
  {
    name: "sparsity",
    title: "Sparsity",
    path: "/sparsity",
    key: "p",
    has: (health) => health.sparsity,
    component: lazyPage(() => import("./sparsity")),
  },
  {
    name: "checks",
    title: "Checks",
    path: "/checks",
    key: "k",
    has: (health) => health.checks.length > 0,
    component: lazyPage(() => import("./checks")),
  },
  {
    name: "prototypes",
    title: "Prototypes",
    path: "/prototypes",
    key: "o",
    has: (health) => health.prototypes.length > 0,
    component: lazyPage(() => import("./prototypes")),
  },
  {
    name: "review",
    title: "Review",
    path: "/review",
    key: "r",
    has: (health) => health.review != null,
    component: lazyPage(() => import("./review")),
  },
  {
    name: "rating",
    title: "Rating",
    path: "/rating",
    key: "a",
    has: (health) => (health.review?.tasks ?? 0) > 0,
    // In one file with the review, of which it uses most.
    component: lazyPage(async () => ({ default: (await import("./review")).RatingPage })),
  },
  { name: "study", title: "Study", path: "/study", key: "s", component: lazyPage(() => import("./study")) },
];

export const IMAGE_PAGE: PageInfo = {
  name: "image",
  title: "Image",
  path: "/image/",
  single: true,
  component: lazyPage(() => import("./image")),
};

/** Where a page is opened from another: with the words that hold on both. */
export const pageHref = (page: PageInfo, words: Words): string => href(page.path, carried(words, page.single === true));

const SEGMENT = /^\/([a-z]+)(\/|$)/;

/** Which page an address shows; null: none. */
export function pageOf(path: string): PageInfo | null {
  if (path === "/" || path === "/index.html") return PAGES[0] ?? null;
  const first = SEGMENT.exec(path)?.[1];
  if (first === "image") return path.length > IMAGE_PAGE.path.length ? IMAGE_PAGE : null;
  return PAGES.find((page) => page.name === first) ?? null;
}

/** The image that the address names. */
export function imageOf(path: string): string {
  const name = path.slice(IMAGE_PAGE.path.length);
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // Typed, and no name of an image: the page says so.
  }
}
