/** What the report says in words: findings, what is missing, and what must not be concluded. */
import type { ReactNode } from "react";

import { Panel } from "../../components";
import { byHeading, type Card } from "./report";

/** The few numbers that matter most. */
export function Cards({ cards }: { cards: readonly Card[] }) {
  if (!cards.length) return null;
  return (
    <dl className="sparsity-cards">
      {cards.map(({ value, what, small }) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>
            <b>{value}</b>
            <small>{small}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Findings, each below the question that it answers. */
export function Findings({ findings }: { findings: readonly (readonly [string, string])[] }) {
  return (
    <Panel title="In short" id="findings">
      {byHeading(findings).map(({ heading, texts }) => (
        <div key={heading} className="sparsity-findings">
          <h3>{heading}</h3>
          <ul>
            {texts.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </div>
      ))}
    </Panel>
  );
}

/** What must be read before the figures beside it. */
export function Warning({ children }: { children: ReactNode }) {
  return (
    <div className="sparsity-warning" role="note">
      {children}
    </div>
  );
}

/** What was not given, and how to get it. */
export function Missing({ missing }: { missing: readonly string[] }) {
  if (!missing.length) return null;
  return (
    <Warning>
      {missing.map((text) => (
        <p key={text}>{text}</p>
      ))}
      <p>
        These are options of <code>sightline sparsity STORE</code>, which writes the same report with them.
      </p>
    </Warning>
  );
}

const WRONG: readonly (readonly [string, string])[] = [
  ["“The model looks poorly at windows.”", "It may look at all of them, and one is labelled."],
  ["“Model A is worse than model B.”", "A may find more instances that nobody labelled."],
  [
    "“Fine-tuning made it worse (Δ IoU below 0).”",
    "It may have learned to look at every instance, which costs IoU wherever one is labelled.",
  ],
  [
    "“The score lies inside the band, so only missing labels keep it low.”",
    "The band says what further gaps would do, not where the score for a complete annotation lies.",
  ],
];

const UNSOLVED: readonly (readonly [string, string])[] = [
  ["Kinds that are never labelled:", "no label, no score; nothing here can see them."],
  [
    "Images labelled by different rules:",
    "a kind labelled on one image and not on the next looks like missing labels on the second.",
  ],
  [
    "Experts who disagree:",
    "what counts as a round or a pointed arch is another question than how many are labelled.",
  ],
];

function Pairs({ pairs }: { pairs: readonly (readonly [string, string])[] }) {
  return (
    <ul>
      {pairs.map(([what, why]) => (
        <li key={what}>
          <b>{what}</b> {why}
        </li>
      ))}
    </ul>
  );
}

/** Conclusions that missing labels make wrong, and what nothing here solves. */
export function Limits() {
  return (
    <Panel title="Read before you conclude" id="limits">
      <div className="sparsity-findings">
        <h3>Conclusions that missing labels make wrong</h3>
        <Pairs pairs={WRONG} />
        <h3>What nothing on this page solves</h3>
        <Pairs pairs={UNSOLVED} />
      </div>
    </Panel>
  );
}
