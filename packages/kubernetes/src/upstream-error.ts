import { type GroupResource, type Status, StatusError, type StatusReason, serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';

/** Bound of an error body. A Status is far smaller. */
const errorBodyLimit = 64 * 1024;

const text = z.string().exactOptional();

const failureStatus = z.looseObject({
  kind: z.literal('Status'),
  apiVersion: z.literal('v1'),
  metadata: z.record(z.string(), z.unknown()).default({}),
  status: z.literal('Failure'),
  message: z.string().default(''),
  reason: text,
  details: z
    .looseObject({
      name: text,
      group: text,
      kind: text,
      uid: text,
      causes: z.array(z.looseObject({ reason: text, message: text, field: text })).exactOptional(),
      retryAfterSeconds: z.number().exactOptional(),
    })
    .exactOptional(),
  code: z.int().min(400).max(599),
});

const reasons: Readonly<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Headers of a refusal of the API server that callers receive. */
const passedOnHeaders = ['Retry-After', 'Warning', 'Audit-Id'];

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * A failure that the API server answered: its own Status with code, Retry-After, Warning and Audit-Id. For another body (a page of a proxy,
 * or none), a Status with that code and the cause `UnexpectedServerResponse`.
 */
export class UpstreamError extends StatusError {
  override readonly status: Status;
  override readonly headers: Readonly<Record<string, string>>;
  /** Value of Retry-After in milliseconds, undefined without one. */
  readonly retryAfterMs: number | undefined;
  /** True for a Status of the API server. Another body, such as a page of a proxy, says nothing about an object, a right or a token. */
  readonly isStated: boolean;
  /** True for the plain text by which kube-apiserver answers unknown paths, and some proxies, too. */
  readonly isUnknownPathText: boolean;

  constructor(statusCode: number, headers: UpstreamHeaders, body: string) {
    const stated = parseStatus(statusCode, body);
    const status = stated ?? unstated(statusCode);
    super(statusCode, 'InternalError', status.message);
    this.status = status;
    this.isStated = stated !== undefined;
    this.isUnknownPathText = statusCode === 404 && body.trim() === '404 page not found';
    this.headers = headersOf(headers, status, this.isStated);
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    this.retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
  }

  hasCause(reason: string): boolean {
    return this.status.details?.causes?.some((cause) => cause.reason === reason) ?? false;
  }
}

/** Codes that mean the same for every call. A 404 may be about the object, its namespace or the path: see `isGone` and `isUnknownResource`. */
type RefusalCode = 401 | 403 | 409 | 422;

/** Reports whether the API server refused with one of these codes, in a Status. */
export const isRefusal = (error: unknown, ...codes: RefusalCode[]): error is UpstreamError =>
  error instanceof UpstreamError && error.isStated && codes.some((code) => code === error.status.code);

/** Reports whether the API server states that this very object does not exist. */
export function isGone(error: unknown, { group, resource }: GroupResource, name: string): error is UpstreamError {
  if (!(error instanceof UpstreamError && error.isStated)) return false;
  const { code, reason, details } = error.status;
  const isOfResource = (details?.kind ?? resource) === resource && (details?.group ?? group) === group;
  return code === 404 && reason === 'NotFound' && details?.name === name && isOfResource;
}

/** Reports whether the API server states that it does not know the resource: a NotFound that names no object. */
export const isUnknownResource = (error: unknown): boolean =>
  error instanceof UpstreamError && error.isStated && error.status.code === 404 && error.status.details?.name === undefined;

/** Returns a 503 in place of an answer that is no Status. An overloaded API server answers 429 with plain text, which may be repeated. */
export const pageAsOutage = (error: unknown): unknown =>
  error instanceof UpstreamError && !error.isStated && error.status.code !== 429
    ? serviceUnavailable('kubernetes', { cause: error })
    : error;

/** Returns the refusal of the API server, also if it is the cause of a 503 of the service. Undefined if there is none. */
export function upstreamRefusal(error: unknown): UpstreamError | undefined {
  const answer = answerOf(error);
  return answer?.isStated ? answer : undefined;
}

/** Returns the failed answer, also if it is the cause of a 503 of the service. */
export function answerOf(error: unknown): UpstreamError | undefined {
  const answer = error instanceof StatusError && !(error instanceof UpstreamError) ? error.cause : error;
  return answer instanceof UpstreamError ? answer : undefined;
}

/**
 * Returns the reason of a failure as one line for the user of a command, who has the credential of the service: the words of the API server,
 * or the reason why it did not answer.
 */
export function failureLine({ message, cause }: Error): string {
  if (cause instanceof StatusError) return `the API server: ${cause.status.message}`;
  return [message, ...(cause instanceof Error ? [cause.message] : [])].join(': ').replace(/\s+/g, ' ');
}

/** Reports whether the API server could not be reached or timed out. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof StatusError && !(error instanceof UpstreamError) && (error.status.code === 504 || errorCode(error.cause) !== undefined);

/** Returns the code of an error of the system or of undici, such as `ECONNREFUSED`. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

function parseStatus(statusCode: number, body: string): Status | undefined {
  const parsed = failureStatus.safeParse(parseJson(body));
  return parsed.success && parsed.data.code === statusCode ? parsed.data : undefined;
}

function unstated(statusCode: number): Status {
  const message = 'the answer of kubernetes is not a Status';
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[statusCode] ?? (statusCode < 500 ? 'BadRequest' : 'InternalError'),
    details: { causes: [{ reason: 'UnexpectedServerResponse', message }] },
    code: statusCode,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headersOf(headers: UpstreamHeaders, { code, details }: Status, isStated: boolean): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passedOnHeaders) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) passed[name] = [value].flat().join(', ');
  }
  if ([429, 503, 504].includes(code)) passed['Retry-After'] ??= String(details?.retryAfterSeconds ?? 1);
  if (code === 401 && isStated) passed['WWW-Authenticate'] = 'Bearer realm="atrium", error="invalid_token"';
  return passed;
}

/** Returns an error body, '' if it is longer than `errorBodyLimit`. The rest is not awaited. */
export async function readErrorBody(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > errorBodyLimit) return '';
  }
  return Buffer.concat(chunks).toString();
}
