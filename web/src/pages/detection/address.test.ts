import { describe, expect, it } from "vitest";
import { ANY_ERROR, imageAddress, imagesAddress, readBehind, tellBehind } from "./address";

const read = (query: string) => readBehind(new URLSearchParams(query));
const at = { name: "eager", confidence: null };

describe("the address of images", () => {
  it("is read as it is written", () => {
    const behind = { cell: { true: "rose window", predicted: "Background" }, state: null };
    const query = imagesAddress(at, behind).split("?")[1]!;
    expect(read(query)).toEqual(behind);
    expect(read(imagesAddress(at, ANY_ERROR).split("?")[1]!)).toEqual(ANY_ERROR);
    expect(read("name=eager")).toBeNull();
    expect(read("state=FN")).toEqual({ cell: null, state: "FN" });
    expect(read("state=nonsense")).toBeNull();
    expect(read("true=door")).toBeNull();
  });

  it("keeps where an image was opened from, and the confidence", () => {
    const from = { cell: null, state: "FP" } as const;
    const query = imageAddress({ ...at, confidence: 0.4 }, "a.png", from).split("?")[1]!;
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
      name: "eager",
      state: "FP",
      image: "a.png",
      confidence: "0.4",
    });
  });

  it("is said in words", () => {
    const tell = (truth: string, predicted: string) =>
      tellBehind({ cell: { true: truth, predicted }, state: null });
    expect(tell("door", "window")).toBe("Images with door taken for window");
    expect(tell("door", "door")).toBe("Images with door found");
    expect(tell("door", "Background")).toBe("Images with door missed");
    expect(tell("Background", "door")).toBe("Images with door predicted where there is none");
    expect(tellBehind({ cell: null, state: "FN" })).toBe("Images with false negatives");
    expect(tellBehind(ANY_ERROR)).toBe("Images with errors");
  });
});
