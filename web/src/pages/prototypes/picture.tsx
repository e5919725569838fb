/** Pictures of prototypes and images, which the service makes; one that cannot be made says so. */
import { useState } from "react";

import * as Api from "../../api/client";
import { useProgress } from "../../api/queries";

interface Props {
  src: string;
  alt: string;
  size?: number;
}

function Picture({ src, alt, size = 224 }: Props) {
  const [failed, setFailed] = useState<string | null>(null);
  if (failed === src) return <span className="prototypes-blank">no picture</span>;
  return <img src={src} alt={alt} width={size} height={size} loading="lazy" decoding="async" onError={() => setFailed(src)} />;
}

type PictureView = "image" | "patch" | "box" | "crop" | "heatmap";

const WHAT: Readonly<Record<PictureView, string>> = {
  image: "the image",
  patch: "the patch",
  box: "the image with a box around the most relevant pixels",
  crop: "the most relevant pixels",
  heatmap: "the attribution over the image",
};

interface OfPrototype {
  name: string;
  prototype: number;
  view: PictureView;
  size?: number;
}

/** Where a prototype was taken from. */
export function PatchPicture({ name, prototype, view, size }: OfPrototype) {
  const v = useProgress().data?.version;
  const src = Api.prototypePatchUrl(name, prototype, { view, v });
  return <Picture src={src} alt={`Prototype ${prototype}: ${WHAT[view]}`} size={size} />;
}

interface OfImage extends Omit<OfPrototype, "prototype"> {
  image: string;
  prototype: number | null;
  attribution?: string | null;
}

/** What of an image is like a prototype. */
export function ImagePicture({ name, image, prototype, view, size, attribution }: OfImage) {
  const v = useProgress().data?.version;
  const src = Api.prototypePictureUrl(name, image, { view, prototype, attribution, v });
  return <Picture src={src} alt={`${image}: ${WHAT[view]}`} size={size} />;
}
