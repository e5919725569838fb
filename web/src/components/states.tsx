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

interface LoadedProps<T> {
  of: Result<T>;
  label?: string;
  children: (data: T) => ReactNode;
}

/** An answer once it is there; before that a spinner, or what went wrong. */
export function Loaded<T>({ of, label, children }: LoadedProps<T>) {
  if (of.data !== undefined) {
    return <div className={of.isPlaceholderData ? "stale" : "loaded"}>{children(of.data)}</div>;
  }
  if (of.error) return <ErrorNote error={of.error} retry={() => void of.refetch()} />;
  return <Spinner label={label} />;
}
