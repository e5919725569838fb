import type { Words } from "../../url";
import { useViewWords } from "./filters";
import type { View } from "./views";

/** Words of a view of heads: a layer is a number there, since each is shown, none is chosen. */
export function useHeadWords(view: View): Words {
  const { layer, ...words } = useViewWords(view);
  return /^\d+$/.test(String(layer)) ? { ...words, layer } : words;
}
