import { useImage, useStudy } from "../../api/queries";
import { Loaded, Page } from "../../components";
import { useUrl } from "../../url";
import { imageOf } from "../index";
import { Body } from "./body";
import "./image.css";

/** One image, looked at closely. */
export default function ImagePage() {
  const image = imageOf(useUrl().path);
  const study = useStudy();
  const detail = useImage(image);
  if (study.data && detail.data) return <Body key={image} study={study.data} detail={detail.data} />;
  return (
    <Page title={image}>
      {study.data ? <Loaded of={detail}>{() => null}</Loaded> : <Loaded of={study}>{() => null}</Loaded>}
    </Page>
  );
}
