/** What stands in for content: still coming, nothing there, went wrong. */
import type { ReactNode } from "react";

import { ApiError } from "../api/ask";
import type { Result } from "../api/queries";

/** Something is on its way. */
export function Spinner({ label = "Loading" }: { label?: string }) {
  return (
    <p className="state" role="status">
      <span className="spinner" aria-hidden="true" /> {label} …
    </p>
  );
}

/** There is nothing to show, and why. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state empty">
      <strong>{title}</strong>
      {children && <div>{children}</div>}
    </div>
  );
}

/** "Conflict" is what HTTP calls it when data or maps are gone, or have changed. */
function titleOf(error: Error): string {
  if (!(error instanceof ApiError)) return "Something went wrong";
  if (error.status === 422) return "This asks for what is not there";
  return error.status === 409 ? "This store cannot show it" : error.title;
}

/** What went wrong, in the service's words, and what can be done. */
export function ErrorNote({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div className="state error" role="alert">
      <strong>{titleOf(error)}</strong>
      <div>{error.message}</div>
      {retry && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A warning next to scores. */
export function Caution({ children }: { children: ReactNode }) {
  return (
    <div className="caution" role="note">
      {children}
    </div>
  );
}

/** Why the service warns against comparing the scores of a table with one another. */
function warningsOf(answer: unknown): readonly string[] {
  const table = answer as { note?: string; warnings?: readonly string[] } | null;
  return (typeof table?.note === "string" && table.warnings) || [];
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function Warnings({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <Caution>
      {texts.map((text) => (
        <p key={text}>
          <b>Not comparable.</b> {sentence(text)}
        </p>
      ))}
    </Caution>
  );
}

interface LoadedProps<T> {
  of: Result<T>;
  label?: string;
  children: (data: T) => ReactNode;
}

/** An answer under its warnings; before it is there a spinner, or the error. */
export function Loaded<T>({ of, label, children }: LoadedProps<T>) {
  if (of.data !== undefined) {
    return (
      <div className={of.isPlaceholderData ? "stale" : "loaded"}>
        <Warnings texts={warningsOf(of.data)} />
        {children(of.data)}
      </div>
    );
  }
  if (of.error) return <ErrorNote error={of.error} retry={() => void of.refetch()} />;
  return <Spinner label={label} />;
}
