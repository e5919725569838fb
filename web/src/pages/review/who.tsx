/** Who works here: asked for once, kept in this browser, changed with the button that has the name. */
import { useState } from "react";

import { lastWho, rememberWho } from "./data";
import { WhoForm } from "./notices";

/** `form` is there while the name must be given, and stands in place of the work. */
export function useWho() {
  const [who, setWho] = useState(lastWho);
  const [asking, setAsking] = useState(false);
  const take = (name: string) => {
    rememberWho(name);
    setWho(name);
    setAsking(false);
  };
  const button = who !== "" && (
    <button type="button" className="button review-you" title={who} aria-label={`You: ${who}, change`} onClick={() => setAsking(true)}>
      You: {who}
    </button>
  );
  const form = who === "" || asking ? <WhoForm who={who} onWho={take} {...(who !== "" && { onCancel: () => setAsking(false) })} /> : null;
  return { who, button, form };
}
