/** What must be read before numbers are believed. */
import type { ReactNode } from "react";

import { Empty, Link } from "../../components";
import { to } from "../../url";

/** No line is left by the filters. */
export function NoLine() {
  return <Empty title="No line fits">Show all models and methods, or clear the filters.</Empty>;
}

const HOW: Readonly<Record<string, ReactNode>> = {
  randomisation: "re-initialises the network and compares maps",
  faithfulness: "perturbs pixels in the order of the map",
  parts: "removes parts of facades and compares what decides with what maps rank first",
};

/** The check was not run: what would make it. */
export function NotStored({ needs, stored }: { needs: string; stored: readonly string[] }) {
  return (
    <Empty title={stored.length === 0 ? "No checks are stored" : `The check “${needs}” is not stored`}>
      <p>
        It {HOW[needs] ?? "was not run"}. Add it to the study file and run it again; nothing stored is lost:
      </p>
      <pre className="checks-example">{`checks:\n  ${needs}: {}`}</pre>
      <p>
        Or run <code>sightline sanity RUN</code>, which checks the layers that the leaderboard reports.{" "}
        <Link href={to.study()}>The file of this study</Link>
      </p>
    </Empty>
  );
}
