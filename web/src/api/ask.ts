/** Requests to the API: problems become errors that carry the service's own words. */

export interface Asked {
  signal?: AbortSignal;
  method?: "GET" | "POST";
  body?: unknown;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** What the service answered when it could not do what was asked. */
export class ApiError extends Error {
  readonly status: number;
  readonly field: string | null;
  readonly title: string;
  /** All that the service told; null: it told no problem. */
  readonly body: Readonly<Record<string, unknown>> | null;

  constructor(status: number, title: string, detail: string, field: string | null, body: Readonly<Record<string, unknown>> | null = null) {
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.title = title;
    this.body = body;
    this.field = field;
  }
}

/** An address; null, undefined and empty words are left out, the others keep the order given. */
export function urlOf(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") words.append(name, String(value));
  }
  const text = words.toString();
  return text === "" ? path : `${path}?${text}`;
}

async function problemOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const problem = JSON.parse(text) as { title?: string; detail?: string; field?: string | null; [name: string]: unknown };
    return new ApiError(
      response.status,
      problem.title ?? response.statusText,
      problem.detail ?? text,
      problem.field ?? null,
      problem,
    );
  } catch {
    const detail = text.slice(0, 300) || `the service answered ${response.status}`;
    return new ApiError(response.status, response.statusText, detail, null);
  }
}

async function request(url: string, asked: Asked = {}): Promise<Response> {
  const init: RequestInit = { method: asked.method ?? "GET", signal: asked.signal ?? null };
  if (asked.body !== undefined) {
    init.body = JSON.stringify(asked.body);
    init.headers = { "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "No answer", "The service does not answer. Is `sightline serve` still running?", null);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** An answer in JSON. */
export async function ask<T>(url: string, asked?: Asked): Promise<T> {
  const response = await request(url, asked);
  return (await response.json()) as T;
}

/** An answer in bytes. */
export async function bytesOf(url: string, asked?: Asked): Promise<ArrayBuffer> {
  const response = await request(url, asked);
  return response.arrayBuffer();
}
