import { Checkbox } from "../../components";
import type { Box } from "./boxes";
import { StateSwatch } from "./mark";
import { LOOKS, STATES, type State } from "./states";

interface LegendProps {
  boxes: readonly Box[];
  states: ReadonlySet<State>;
  onStates: (states: readonly State[]) => void;
}

/** What colours, lines and marks mean; each kind of box can be switched off. */
export function StateLegend({ boxes, states, onStates }: LegendProps) {
  const count = (state: State) => boxes.filter((box) => box.state === state).length;
  const there = STATES.filter((state) => state !== "ignored" || count(state) > 0);
  const turn = (state: State, on: boolean) =>
    onStates(STATES.filter((one) => (one === state ? on : states.has(one))));
  return (
    <fieldset className="detection-legend">
      <legend>Boxes</legend>
      {there.map((state) => (
        <Checkbox
          key={state}
          checked={states.has(state)}
          onChange={(on) => turn(state, on)}
          label={
            <span title={LOOKS[state].meaning}>
              <StateSwatch state={state} /> {LOOKS[state].title} <b>{count(state)}</b>
            </span>
          }
        />
      ))}
    </fieldset>
  );
}
