/** What must be read before numbers are believed. */
import type { ReactNode } from "react";

import { Empty, Link } from "../../components";
import { to } from "../../url";

/** No line is left by the filters. */
export function NoLine() {
  return <Empty title="No line fits">Show all models and methods, or clear the filters.</Empty>;
}

const HOW: Readonly<Record<string, ReactNode>> = {
  randomisation: "redraws the weights of the network and compares maps",
  faithfulness: "changes pixels in the order of the map and watches the score of the class",
  parts: "takes away the parts of drawn facades and compares what decides with what maps rank first",
};

/** The check was not run: what would make it. */
export function NotStored({ needs, stored }: { needs: string; stored: readonly string[] }) {
  return (
    <Empty title={stored.length === 0 ? "No checks are stored" : `The check “${needs}” is not stored`}>
      <p>
        It {HOW[needs] ?? "was not run"}. Put it into the file of the study and run it again; what is stored is kept:
      </p>
      <pre className="checks-example">{`checks:\n  ${needs}: {}`}</pre>
      <p>
        Or run <code>sightline sanity RUN</code>, which adds all checks to a run, of the layers that its leaderboard reports.{" "}
        <Link href={to.study()}>The file of this study</Link>
      </p>
    </Empty>
  );
}
