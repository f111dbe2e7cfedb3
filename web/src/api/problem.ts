import type { components } from './schema.d.ts';

type Status = components['schemas']['Status'];

export interface Cause {
  reason: string;
  message: string;
  field: string;
}

/** Login that an operation requires (RFC 9470), as parameters of the login operation. */
export interface StepUp {
  /** Seconds. */
  max_age?: string;
  acr_values?: string;
}

/** Texts about failures that no answer describes. */
type Words = (key: 'state.unreachable' | 'problem.page' | 'write.unknown' | 'write.notDone', values?: { code: number }) => string;

let words: Words = (key) => key;

/** Sets the function that returns these texts in the language of the page. */
export function setWords(next: Words): void {
  words = next;
}

/** Failure in one shape: a Status of the service, or a service that cannot be reached (status 0). */
export class Problem extends Error {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly Cause[];
  readonly requestId: string;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly stepUp: StepUp | undefined;
  /** Name of the object that a Status is about. */
  readonly #name: string | undefined;

  constructor(status: number, { reason, message, details }: Status, requestId = '', challenge = '') {
    super(message || reason || `HTTP ${status}`);
    this.status = status;
    this.reason = reason ?? '';
    this.causes = (details?.causes ?? []).map((cause) => ({ reason: '', message: '', field: '', ...cause }));
    this.requestId = requestId;
    this.retryAfter = details?.retryAfterSeconds;
    this.#name = details?.name;
    this.stepUp = this.has('StepUpRequired') ? stepUpIn(challenge) : undefined;
  }

  has(reason: string): boolean {
    return this.causes.some((cause) => cause.reason === reason);
  }

  /** Reports whether the service or the API server did not answer: the same request may succeed later. */
  get isOutage(): boolean {
    return this.reason === unreachable || [429, 502, 503, 504].includes(this.status);
  }

  /** Returns the failure of a write by an outage with what is known about its effect. @param wasSent false if no request left the browser */
  ofWrite(wasSent = true): Problem {
    if (!this.isOutage) return this;
    // Messages of the API server have no full stop.
    const sentence = /[.!?。]$/.test(this.message) ? this.message : `${this.message}.`;
    const message = `${sentence} ${words(wasSent && this.status !== 429 ? 'write.unknown' : 'write.notDone')}`;
    const details = { causes: [...this.causes], ...(this.retryAfter && { retryAfterSeconds: this.retryAfter }) };
    return new Problem(this.status, { reason: this.reason, message, details }, this.requestId);
  }

  /** Reports whether a Status states that an object or a path does not exist. */
  get isNotFound(): boolean {
    return this.status === 404 && this.reason === 'NotFound';
  }

  /** Reports whether a Status states that this very object does not exist. */
  isGone(name: string): boolean {
    return this.isNotFound && this.#name === name;
  }

  /** Reports whether a Status states that the operation or the resource does not exist. */
  get isUnknownPath(): boolean {
    return this.isNotFound && this.#name === undefined;
  }
}

/** @param challenge the header WWW-Authenticate */
function stepUpIn(challenge: string): StepUp {
  const named = Object.fromEntries(
    [...challenge.matchAll(/\b(max_age|acr_values)="([^"]*)"/g)].map(([, name = '', value]) => [name, value]),
  );
  return named as StepUp;
}

/** kube-apiserver's answer for an unknown path, and that of some proxies: neither an outage nor a proof. */
const unknownPathText = '404 page not found';
/** Cause in a Status of the service that replaces an answer without a Status. */
const unexpected = 'UnexpectedServerResponse';

/** Reads a failed answer. An answer that is no Status says nothing about an object, a right or the session: it is an outage. */
export async function problemOf(response: Response): Promise<Problem> {
  const { status: code, headers } = response;
  const text = await response.text();
  const requestId = headers.get('X-Request-Id') ?? '';
  const status = statusIn(text);
  const retryAfter = Number(headers.get('Retry-After'));
  const details = { ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }), ...status?.details };
  if (status !== undefined) return new Problem(code, { ...status, details }, requestId, headers.get('WWW-Authenticate') ?? '');
  const isUnknownPath = code === 404 && (text.trim() === unknownPathText || text.includes(unexpected));
  if (isUnknownPath) return new Problem(code, {}, requestId);
  const message = words('problem.page', { code });
  if (code === 429 || code >= 500) return new Problem(code, { message, details }, requestId);
  return new Problem(503, { reason: 'ServiceUnavailable', message });
}

/** Returns the Status of the service or the API server. */
function statusIn(text: string): Status | undefined {
  try {
    const body = JSON.parse(text) as Status | null;
    return body?.kind === 'Status' && !body.details?.causes?.some(({ reason }) => reason === unexpected) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether a page stands in place of an answer: the service and the API server send none to the console. */
export const isPage = ({ headers }: Response): boolean => headers.get('Content-Type')?.startsWith('text/html') === true;

const unreachable = 'Unreachable';

/** Returns the problem of a service that does not answer. */
export const noAnswer = (): Problem => new Problem(0, { reason: unreachable, message: words('state.unreachable') });

/** Messages of browsers about a failed request, a file that could not be loaded, and an answer that was cut. Mistakes of code have the same types. */
const requestFailed =
  /^(?:Failed to fetch|NetworkError|Load failed|network error|error loading dynamically|Importing a module|Error in input stream|The network connection|Unable to preload)/i;

function isOfBrowser(error: unknown): boolean {
  if (error instanceof DOMException) return /^(?:Abort|Timeout|Network)Error$/.test(error.name);
  return error instanceof Error && (error instanceof SyntaxError ? / JSON\b|^JSON/ : requestFailed).test(error.message);
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return isOfBrowser(error) ? noAnswer() : new Problem(0, { message: error instanceof Error ? error.message : String(error) });
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';
