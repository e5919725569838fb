/** The images of the gallery as data, for CSV. */
import type { ImageSummary } from "../../api/client";
import type { DataSet } from "../../export";

/** The numbers on the cards, for CSV. */
export function dataOf(items: readonly ImageSummary[], metric: string, tags: ReadonlyMap<string, readonly string[]>): DataSet {
  return {
    columns: ["image", metric, "chance", "ceiling", "annotated_area", "regions", "visible", "labels", "split", "warnings", "tags"],
    rows: items.map((item) => [
      item.image,
      item.value,
      item.chance,
      item.ceiling,
      item.area,
      item.regions,
      item.visible,
      item.labels.join("; "),
      item.split,
      item.warnings.join("; "),
      (tags.get(item.image) ?? []).join("; "),
    ]),
  };
}
