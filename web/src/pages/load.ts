/** Pages whose files are loaded when they are first opened, and what to do where one does not come. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

import { ask } from "../api/ask";
import { flush } from "../url";

/** A file of a page did not come: no network, or a new version of the app has other files. */
export class PageFileError extends Error {
  override name = "PageFileError";

  constructor(cause: unknown) {
    super("The files of this page could not be loaded. The service may have been stopped, or started again with another version.", { cause });
  }
}

/** A page in a file of its own. */
export const lazyPage = (load: () => Promise<{ default: ComponentType }>): LazyExoticComponent<ComponentType> =>
  lazy(async () => {
    try {
      return await load();
    } catch (error) {
      throw new PageFileError(error);
    }
  });

const seen = new WeakSet<PageFileError>();

/** Whether the page was opened before, and its files had not come then. */
export function isOpenedAgain(error: PageFileError): boolean {
  const again = seen.has(error);
  seen.add(error);
  return again;
}

/**
 * Opens the app again at the same address, once the service answers. Nothing less is sure to help:
 * React keeps a load that failed, browsers may, and so does what loads styles; files of a new
 * version have other names, which a new document has.
 */
export async function reopen(): Promise<void> {
  await ask("/api/health");
  flush();
  window.location.reload();
}
