import type { components } from './schema';

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

/** Failure in one shape: a Status of the service, or a service that cannot be reached (status 0). */
export class Problem extends Error {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly Cause[];
  readonly requestId: string;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly stepUp: StepUp | undefined;

  constructor(status: number, { reason, message, details }: Status, requestId = '', challenge = '') {
    super(message || reason || `HTTP ${status}`);
    this.status = status;
    this.reason = reason ?? '';
    this.causes = (details?.causes ?? []).map((cause) => ({ reason: '', message: '', field: '', ...cause }));
    this.requestId = requestId;
    this.retryAfter = details?.retryAfterSeconds;
    this.stepUp = this.has('StepUpRequired') ? stepUpIn(challenge) : undefined;
  }

  has(reason: string): boolean {
    return this.causes.some((cause) => cause.reason === reason);
  }
}

/** @param challenge the header WWW-Authenticate */
function stepUpIn(challenge: string): StepUp {
  const named = Object.fromEntries(
    [...challenge.matchAll(/\b(max_age|acr_values)="([^"]*)"/g)].map(([, name = '', value]) => [name, value]),
  );
  return named as StepUp;
}

export async function problemOf(response: Response): Promise<Problem> {
  const status = await response.json().then(
    (body: Status) => body,
    () => ({}),
  );
  return new Problem(response.status, status, response.headers.get('X-Request-Id') ?? '', response.headers.get('WWW-Authenticate') ?? '');
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem
    ? error
    : new Problem(0, { reason: 'Unreachable', message: error instanceof Error ? error.message : String(error) });

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';
