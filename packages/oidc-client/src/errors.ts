import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import type { Counter, Metrics } from '@atrium/http/telemetry/metrics.ts';
import { type StatusError, serviceUnavailable, unauthorized } from '@atrium/objects/status.ts';
import { decodeProtectedHeader, errors } from 'jose';
import { LRUCache } from 'lru-cache';
import * as client from 'openid-client';
import type { Logger } from 'pino';
import { ZodError } from 'zod';

/** Fault in an answer of the issuer. The message has no text of the issuer, and may be logged. */
export class IssuerFault extends Error {
  override readonly name = 'IssuerFault';
}

/** Errors that concern this client or the moment, and not the grant (RFC 6749 section 5.2). */
const passingErrors: readonly string[] = ['invalid_client', 'temporarily_unavailable'];

/** RFC 6749 section 5.2 reserves 401 for failed client authentication; Keycloak answers so to a wrong secret. */
const isWrongSecret = ({ status, error }: client.ResponseBodyError): boolean => status === 401 && error === 'unauthorized_client';

/** Reports whether an answer of the token endpoint means that the refresh token is permanently invalid (docs/contract/login.md). */
export const isFinal = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError &&
  (error.status === 400 || error.status === 401) &&
  !passingErrors.includes(error.error) &&
  !isWrongSecret(error);

export const isInvalidGrant = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError && error.error === 'invalid_grant' && error.status < 500;

/** Builds the 503. Errors of openid-client may have tokens, hosts and texts of the issuer, and are not passed on. */
export const issuerUnavailable = (error: unknown, retryAfterSeconds = 1): StatusError =>
  serviceUnavailable('identity provider', { cause: new IssuerFault(faultOf(error)), retryAfterSeconds });

/** Builds the 401 about a parameter of the callback. */
export const callbackRefused = (field: 'code' | 'id_token'): StatusError => {
  const message = field === 'code' ? 'was not accepted by the identity provider' : 'does not verify';
  return unauthorized({ tokenGiven: false, causes: [{ reason: 'FieldValueInvalid', message, field }] });
};

/** Registered error codes (RFC 6749, 5.2). Any other value is free text of the issuer. */
const registered: readonly string[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

/** Describes an error in a few words for the log and `/readyz`: codes, no names, no text of the issuer. */
export function faultOf(error: unknown): string {
  if (error instanceof client.ResponseBodyError)
    return `answered ${error.status}${registered.includes(error.error) ? ` ${error.error}` : ''}`;
  const member = unusableMember(error);
  if (member !== undefined) return `gave no usable ${member}`;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof IssuerFault) return cause.message;
    if (cause.name === 'TimeoutError') return 'did not answer in time';
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(cause.code)) return cause.code;
  }
  return 'gave an answer that cannot be used';
}

/** Returns the member of an answer that openid-client refuses, read from the message of that library. */
function unusableMember(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { member } = /^(?:"response" body "|unsupported `)(?<member>\w+)["`]/.exec(cause.message)?.groups ?? {};
    if (member !== undefined) return member;
  }
  return undefined;
}

/** Interval between two log lines about refusals of the same kind and reason: callers can send any number of bad tokens. */
const quietMs = 60_000;
const maxKinds = 200;
const maxLength = 256;
const maxListed = 10;

/** Kind of a refused token. */
export type RefusedToken = 'bearer token' | 'ID token' | 'logout token' | 'workload token';

/** Expected and actual value in a token. */
interface Difference {
  /** Claim or header parameter. */
  readonly name: string;
  readonly expected?: unknown;
  readonly given?: unknown;
}

/** Refusal of a token of the issuer by a rule of this service. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal';
  readonly code: string;
  readonly difference: Difference | undefined;

  constructor(code: string, message: string, difference?: Difference) {
    super(message);
    this.code = code;
    this.difference = difference;
  }
}

/** Logs why tokens are refused. Logs no contents of a token, except issuer, audience, authorized party, type and algorithm. */
export class RefusalLog {
  readonly #log: Logger;
  readonly #refused: Counter<'kind' | 'reason'>;
  readonly #issuer: string;
  readonly #told: LRUCache<string, true>;

  constructor({ log, clock, metrics }: { log: Logger; clock: () => number; metrics: Metrics }, issuer: string) {
    this.#refused = metrics.counter({
      name: 'atrium_tokens_refused_total',
      help: 'Tokens of issuers that were refused, by kind (bearer_token, id_token, logout_token, workload_token) and reason.',
      labelNames: ['kind', 'reason'],
    });
    this.#log = log;
    this.#issuer = issuer;
    this.#told = new LRUCache({ ...atMost(maxKinds), ttl: quietMs, ttlResolution: 0, perf: { now: clock } });
  }

  /** @param token read for its algorithm only */
  tell(kind: RefusedToken, error: unknown, token?: string): void {
    const { code, difference } = reasonOf(error, token);
    this.#refused.inc({ kind: kind.toLowerCase().replace(' ', '_'), reason: code });
    const isSlash = difference?.name === 'iss' && differsBySlash(String(difference.given), this.#issuer);
    const about = { kind, reason: code, ...(difference && shown(difference)) };
    const isOtherAlgorithm = code === errors.JOSEAlgNotAllowed.code && kind !== 'bearer token';
    const message = isSlash
      ? 'token refused: login.issuer differs from the issuer of the token by a slash at the end; write it as the issuer does'
      : isOtherAlgorithm
        ? 'token refused: its algorithm is not the one of this client; set login.idTokenAlgorithm if the issuer has registered another'
        : 'token refused';
    // Expired tokens are common, and are logged at debug level.
    if (code === 'ERR_JWT_EXPIRED' || this.#wasTold(`${kind} ${code} ${difference?.name}`)) this.#log.debug(about, message);
    else this.#log.info(about, message);
  }

  #wasTold(key: string): boolean {
    if (this.#told.has(key)) return true;
    this.#told.set(key, true);
    return false;
  }
}

/** Reports whether two issuers differ by a slash at the end only, a common mistake that is hard to see. */
export const differsBySlash = (one: string, other: string): boolean => one !== other && (one === `${other}/` || `${one}/` === other);

interface Reason {
  code: string;
  difference?: Difference | undefined;
}

function reasonOf(error: unknown, token: string | undefined): Reason {
  if (error instanceof TokenRefusal) return error;
  if (error instanceof ZodError) return { code: 'ClaimsInvalid', difference: { name: String(error.issues[0]?.path[0] ?? '') } };
  if (error instanceof errors.JWTExpired) return { code: error.code, difference: { name: error.claim } };
  if (error instanceof errors.JOSEError) return { code: error.code, difference: { name: 'alg', given: headerOf(token)?.alg } };
  return { code: 'Unfit' };
}

function headerOf(token: string | undefined) {
  try {
    return token === undefined ? undefined : decodeProtectedHeader(token);
  } catch {
    return undefined;
  }
}

const shown = ({ name, expected, given }: Difference) => ({
  differs: name,
  ...(expected !== undefined && { expected: bounded(expected) }),
  ...(given !== undefined && { given: bounded(given) }),
});

const bounded = (value: unknown): unknown =>
  Array.isArray(value) ? value.slice(0, maxListed).map((each) => String(each).slice(0, maxLength)) : String(value).slice(0, maxLength);
