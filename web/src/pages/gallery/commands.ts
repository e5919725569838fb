/** The gallery's keys. */
import { useKeys } from "../../keys";
import { go, setParams, to } from "../../url";
import { filterBy, SEARCH_ID } from "./filters";
import type { Items } from "./items";
import { setPicked, type Pick } from "./picked";
import { compareWords, SAVE_ID, TAG_ID } from "./picked_bar";
import type { View } from "./view";

interface Commands {
  readonly items: Items;
  readonly current: number;
  readonly picked: ReadonlySet<string>;
  readonly pick: Pick;
  readonly view: View;
}

/** Goes to a field: at once, so that the next key is typed into it, or as soon as it is drawn. */
function focusField(id: string): void {
  const field = document.getElementById(id);
  if (field) field.focus();
  else requestAnimationFrame(() => document.getElementById(id)?.focus());
}

function focusGrid(): void {
  document.querySelector<HTMLElement>(".gallery-grid a[tabindex='0']")?.focus();
}

export function useGalleryKeys({ items, current, picked, pick, view }: Commands): void {
  const withPicked = async (id: string) => {
    if (picked.size === 0) await pick(current, false);
    focusField(id);
  };
  const image = items.at(current)?.image;
  const compare = () => {
    if (image !== undefined) go(to.compare({ image, ...compareWords(view.choice) }));
  };
  useKeys("Gallery", [
    { keys: ["/"], label: "search", run: () => focusField(SEARCH_ID) },
    {
      keys: ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"],
      label: "go from image to image; with Shift, pick on the way",
      run: focusGrid,
    },
    { keys: ["x", "Space"], label: "pick the image, or let it go", run: () => void pick(current, false) },
    {
      keys: ["Ctrl+a"],
      label: "pick all images that pass the filters",
      run: () => void items.all().then((all) => setPicked(all.map((item) => item.image))),
    },
    { keys: ["Escape"], label: "unpick all", run: () => setPicked([]) },
    { keys: ["t"], label: "tag the picked images", run: () => void withPicked(TAG_ID) },
    { keys: ["s"], label: "save the picked images as a selection", run: () => void withPicked(SAVE_ID) },
    { keys: ["c"], label: "compare maps of the image", run: compare },
    { keys: ["o"], label: "turn the order round", run: () => filterBy({ ascending: !view.ascending }) },
    {
      keys: ["v"],
      label: "show pictures, or maps over them",
      run: () => setParams({ show: view.show === "overlay" ? null : "overlay" }),
    },
  ]);
}
