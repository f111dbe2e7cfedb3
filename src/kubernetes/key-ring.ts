import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { KeySeal, type Seal, type SealKey, sealedWith } from '../http/seal.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ServiceClient } from './api-server.ts';
import { type ResourceType, resourcePath } from './resource.ts';

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };

/** The entry of the Secret that holds the keys. */
const entry = 'seal.jwks';

/** RFC 7517 section 5 and RFC 7518 section 6.4; `k` is 32 bytes. */
const jwkSet = z.object({
  keys: z
    .array(z.object({ kty: z.literal('oct'), kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), k: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }))
    .min(1),
});
const secretObject = z.object({ data: z.object({ [entry]: z.base64() }) });

const rereadAfterMs = 10_000;
const retryAfterMs = 2_000;

interface KeyRingOptions {
  client: ServiceClient;
  namespace: string;
  /** Name of the Secret. */
  secretName: string;
  log: Logger;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/**
 * The secret keys that all replicas share and nobody else knows: whatever one of them seals, the others open.
 *
 * They live in a Secret, which the first replica makes (create wins once) and the others read. Its entry `seal.jwks` is a JWK Set
 * (RFC 7517) of symmetric keys, `{"keys":[{"kty":"oct","kid":"…","k":"<32 bytes, base64url>"}]}`. The first key seals; every key opens.
 * To rotate, put a new key at the end, wait until all replicas have it, then move it to the front and leave its predecessor behind it
 * for as long as what it sealed is wanted. A sealed text of a key that is not known makes a replica read the Secret again, at most
 * every ten seconds. Other entries of the Secret and further members of a key are left to others.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #stopped = new AbortController();
  #keys: readonly SealKey[] = [];
  #reading: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #retry: NodeJS.Timeout | undefined;
  #failure: string | undefined = 'not read yet';

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** Reads or makes the Secret, and tries again until that has worked. */
  start(): void {
    void this.#read().then(() => {
      if (this.#keys.length === 0 && !this.#stopped.signal.aborted) this.#retry = setTimeout(() => this.start(), retryAfterMs);
    });
  }

  stop(): void {
    clearTimeout(this.#retry);
    this.#stopped.abort(new Error('the service stops'));
  }

  /** Why there are no keys; undefined if there are. */
  failure(): string | undefined {
    return this.#keys.length > 0 ? undefined : this.#failure;
  }

  /** Seals for one purpose; what is sealed for one does not open for another. */
  sealFor(purpose: string): Seal {
    let derivedFrom: readonly SealKey[] = [];
    let seals: KeySeal[] = [];
    const current = () => {
      if (derivedFrom !== this.#keys) seals = this.#keys.map((key) => new KeySeal(key, purpose));
      derivedFrom = this.#keys;
      return seals;
    };
    return {
      seal(text) {
        const [first] = current();
        if (first === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('there is no key to seal with') });
        return first.seal(text);
      },
      open: async (sealed) => {
        await this.#lookFor(sealedWith(sealed));
        if (this.#keys.length === 0) throw serviceUnavailable('kubernetes', { cause: new Error('there is no key to open with') });
        for (const seal of current()) {
          const text = seal.open(sealed);
          if (text !== undefined) return text;
        }
        return undefined;
      },
    };
  }

  /** Reads the Secret again if it may hold a key that is not known, but not whenever somebody makes up a name. */
  async #lookFor(kid: string): Promise<void> {
    const clock = this.#options.clock ?? (() => performance.now());
    if (this.#keys.some((key) => key.kid === kid) || clock() - this.#readAt < rereadAfterMs) return;
    this.#readAt = clock();
    await this.#read();
  }

  /** Never rejects: the keys that are known stay, and `failure` and the log say what is wrong. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOrCreate()
      .then((keys) => {
        this.#keys = keys;
        this.#failure = undefined;
      })
      .catch((error: unknown) => {
        this.#failure = describe(error);
        if (this.#stopped.signal.aborted) return;
        this.#options.log.warn({ secret: this.#options.secretName, failure: this.#failure }, 'the key ring cannot be read');
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #readOrCreate(): Promise<SealKey[]> {
    return (await this.#get()) ?? (await this.#create()) ?? (await this.#get()) ?? [];
  }

  async #get(): Promise<SealKey[] | undefined> {
    const { namespace, secretName: name } = this.#options;
    const path = resourcePath(secrets, { namespace, name });
    const object = await unless(
      404,
      this.#options.client.request({ method: 'GET', path, call: 'get secrets', signal: this.#stopped.signal }),
    );
    return object === undefined ? undefined : keysOf(object);
  }

  /** Undefined if another replica was first. */
  async #create(): Promise<SealKey[] | undefined> {
    const { namespace, secretName: name } = this.#options;
    const keys = [{ kty: 'oct', kid: randomBytes(6).toString('hex'), k: randomBytes(32).toString('base64url') }];
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, labels: { 'app.kubernetes.io/part-of': 'atrium' } },
      type: 'Opaque',
      data: { [entry]: Buffer.from(JSON.stringify({ keys })).toString('base64') },
    };
    const path = resourcePath(secrets, { namespace });
    const object = await unless(
      409,
      this.#options.client.request({ method: 'POST', path, body, call: 'create secrets', signal: this.#stopped.signal }),
    );
    return object === undefined ? undefined : keysOf(object);
  }
}

/** In few words, for whoever looks at `/readyz`: codes, no names. */
function describe(error: unknown): string {
  if (!(error instanceof StatusError)) return `the Secret holds no set of keys in ${entry}`;
  const { status } = error.cause instanceof StatusError ? error.cause : error;
  return `${status.code} ${status.reason ?? ''}`.trim();
}

async function unless(code: number, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === code) return undefined;
    throw error;
  }
}

function keysOf(secret: unknown): SealKey[] {
  const text = Buffer.from(secretObject.parse(secret).data[entry], 'base64').toString();
  return jwkSet.parse(JSON.parse(text)).keys.map(({ kid, k }) => ({ kid, secret: Buffer.from(k, 'base64url') }));
}
