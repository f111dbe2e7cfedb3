import { decodeProtectedHeader, errors } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { ZodError } from 'zod';
import { atMost } from '../limits/eviction-queue.ts';
import type { Services } from '../services.ts';

/** Interval between two log lines about refusals of the same kind and reason: callers can send any number of bad tokens. */
const quietMs = 60_000;
const maxKinds = 200;
const maxLength = 256;
const maxListed = 10;

/** Kind of a refused token. */
export type RefusedToken = 'bearer token' | 'ID token' | 'logout token';

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
  readonly #metrics: Services['metrics'];
  readonly #issuer: string;
  readonly #told: LRUCache<string, true>;

  constructor({ log, clock, metrics }: Pick<Services, 'log' | 'clock' | 'metrics'>, issuer: string) {
    this.#metrics = metrics;
    this.#log = log;
    this.#issuer = issuer;
    this.#told = new LRUCache({ ...atMost(maxKinds), ttl: quietMs, ttlResolution: 0, perf: { now: clock } });
  }

  /** @param token read for its algorithm only */
  tell(kind: RefusedToken, error: unknown, token?: string): void {
    const { code, difference } = reasonOf(error, token, this.#issuer);
    this.#metrics.refusedTokens.inc({ kind: kind.toLowerCase().replace(' ', '_'), reason: code });
    const isSlash = difference?.name === 'iss' && differsBySlash(String(difference.given), this.#issuer);
    const about = { kind, reason: code, ...(difference && shown(difference)) };
    const message = isSlash
      ? 'token refused: login.issuer differs from the issuer of the token by a slash at the end; write it as the issuer does'
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

function reasonOf(error: unknown, token: string | undefined, issuer: string): Reason {
  if (error instanceof TokenRefusal) return error;
  if (error instanceof ZodError) return { code: 'ClaimsInvalid', difference: { name: String(error.issues[0]?.path[0] ?? '') } };
  if (error instanceof errors.JOSEError) return { code: error.code, difference: joseDifference(error, token, issuer) };
  return { code: 'Unfit' };
}

function joseDifference(error: errors.JOSEError, token: string | undefined, issuer: string): Difference | undefined {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
    return { name: error.claim, ...(error.claim === 'iss' && { expected: issuer, given: error.payload.iss }) };
  return { name: 'alg', given: headerOf(token)?.alg };
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
