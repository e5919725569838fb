/** What stands over the image: what it is, what classifiers say of it, where to go from here. */
import type { Choice, ImageDetail } from "../../api/client";
import { Chip, Link } from "../../components";
import { percent, plural } from "../../format";
import { to, useWords } from "../../url";
import { NeighbourLinks, type Neighbours } from "./neighbours";
import { exactWords } from "./state";

interface LeadProps {
  detail: ImageDetail;
  choice: Choice | undefined;
}

export function Lead({ detail, choice }: LeadProps) {
  const said = detail.predictions.find((one) => one.model === choice?.model);
  return (
    <>
      {detail.labels.map((label) => (
        <Chip key={label}>{label}</Chip>
      ))}{" "}
      {plural(detail.regions.length, "region")}
      {detail.area !== null && <>, {percent(detail.area, 1)} annotated</>}
      {detail.split !== "" && <>, {detail.split}</>}
      {said && (
        <>
          . {said.model} says <b>{said.predicted}</b>
          {said.probability !== null && <> ({percent(said.probability)})</>}
          {said.correct !== null && (said.correct ? ", which is right" : `, which is wrong: ${said.label}`)}
        </>
      )}
    </>
  );
}

interface ToolsProps extends LeadProps {
  /** Index of the region whose figures are shown. */
  region: number | null;
  neighbours: Neighbours;
}

export function Tools({ detail, choice, region, neighbours }: ToolsProps) {
  const words = useWords();
  const compared = { ...words, ...(choice ? exactWords(choice) : {}), image: detail.image, region };
  return (
    <>
      <NeighbourLinks neighbours={neighbours} />
      <Link className="button" href={to.compare(compared)}>Compare</Link>
    </>
  );
}
