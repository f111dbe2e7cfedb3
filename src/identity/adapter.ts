import { hash } from 'node:crypto';
import type { CookieFamily } from '@atrium/http/cookies/cookies.ts';
import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { GrantSessions } from './grant-sessions.ts';
import { errors, type ProviderError } from './oidc-provider.ts';
import { type PresentedModel, presentedModels, type RecordIds } from './record-ids.ts';
import { hashed, type IdentityRecords, sealedPayload } from './records.ts';
import { requestScope } from './request-scope.ts';

/** Lifetime of a proved login until its browser resumes the flow. */
const provedTtlSeconds = 120;
const saveTries = 8;

export interface AdapterParts {
  records: IdentityRecords;
  browser: BrowserRecords;
  ids: RecordIds;
  /** Seals access tokens, which hold their own payload. */
  accessTokens: Seal;
  /** Deletes the oldest records of the new record's owner, if there are too many. */
  bound: (model: string, payload: AdapterPayload) => Promise<void>;
  now: () => Date;
  /** Limits guesses at user codes (RFC 8628, 5.1). */
  userCodeGuesses: RateLimit;
  knownBrowsers: Pick<KnownBrowsers, 'take'>;
  /** Undefined if the MCP door is off. */
  agents: GrantSessions | undefined;
}

/**
 * Returns the storage of each model of the provider. Interactions, and sessions without a login, are stored in the browser. Access tokens
 * hold their own payload. All other models are IdentityRecord objects, except unused ones (clients are configured, nothing is pushed or
 * registered), which are not stored.
 */
export function adapterFor({
  records,
  browser,
  ids,
  accessTokens,
  bound,
  now,
  agents,
  ...guessing
}: AdapterParts): (model: string) => Adapter {
  return (model) => {
    if (model === 'Interaction') return guarded(interactionAdapter(browser));
    if (model === 'Session') return guarded(sessionAdapter(storeAdapter(model, records, bound), browser));
    if (model === 'DeviceCode')
      return guarded(deviceCodeAdapter(rejectUnknownIds(model, storeAdapter(model, records), ids), records, guessing));
    if (model === 'AccessToken') return guarded(accessTokenAdapter(records, accessTokens));
    const name = presentedModels.find((known) => known === model);
    if (name !== undefined)
      return guarded(singleUse(name, rejectUnknownIds(name, storeAdapter(name, records), ids), { records, ids, now }));
    return guarded(model === 'Grant' ? grantAdapter(storeAdapter(model, records, bound), agents) : emptyAdapter);
  };
}

const emptyAdapter: Adapter = {
  upsert: async () => {
    throw new Error('this model is not kept');
  },
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function interactionAdapter(browser: BrowserRecords): Adapter {
  return {
    ...emptyAdapter,
    find: (id) => browser.find(id),
    async upsert(id, payload, ttlSeconds = 0) {
      const ttl = payload.result?.login === undefined ? ttlSeconds : Math.min(ttlSeconds, provedTtlSeconds);
      const { exp = 0 } = payload;
      browser.save(id, { ...payload, exp: exp - ttlSeconds + ttl }, ttl);
    },
    destroy: async (id) => browser.remove(id),
  };
}

function sessionAdapter(store: Adapter, browser: BrowserRecords): Adapter {
  return {
    ...store,
    find: async (id) => (await browser.find(id)) ?? store.find(id),
    async upsert(id, payload, ttlSeconds = 0) {
      if (payload.accountId === undefined) return browser.save(id, payload, ttlSeconds);
      browser.remove(id);
      await store.upsert(id, payload, ttlSeconds);
    },
    async destroy(id) {
      if ((await browser.find(id)) !== undefined) browser.remove(id);
      else await store.destroy(id);
    },
  };
}

function storeAdapter(model: string, records: IdentityRecords, bound?: AdapterParts['bound']): Adapter {
  return {
    ...emptyAdapter,
    find: (id) => records.find(model, id),
    findByUid: (uid) => records.findBy(model, 'uid', uid),
    async upsert(id, payload, ttlSeconds = 0) {
      const isNew = !records.isKnown(model, id);
      for (let left = saveTries; !(await records.save(model, id, payload, ttlSeconds)); left -= 1) {
        // Two tabs may write the same session: the later write wins, unless the first one was the logout.
        if (left === 1 || (await records.find(model, id)) === undefined) throw new errors.SessionNotFound('the login has ended meanwhile');
      }
      if (isNew) await bound?.(model, payload);
    },
    async consume(id) {
      if (await records.consume(model, id)) return;
      // A concurrent second use, on any replica, has the effect of a later one (RFC 9700, 4.14.2).
      const used = await records.find(model, id);
      if (used?.grantId !== undefined) await Promise.all([records.removeIssued(used.grantId), records.remove('Grant', used.grantId)]);
      throw new errors.InvalidGrant('already used');
    },
    destroy: (id) => records.remove(model, id),
    revokeByGrantId: (grantId) => records.removeIssued(grantId),
  };
}

/** A grant of an agent is valid as long as the session that it began, and ends it. */
function grantAdapter(store: Adapter, agents: GrantSessions | undefined): Adapter {
  if (agents === undefined) return store;
  return {
    ...store,
    async find(id) {
      const found = await store.find(id);
      if (found?.resources === undefined) return found;
      const { source, signal } = requestScope();
      return (await agents.find(hashed(id), source, signal)) === undefined ? undefined : found;
    },
    async destroy(id) {
      await agents.end(hashed(id), requestScope().signal);
      await store.destroy(id);
    },
  };
}

interface UseParts {
  records: IdentityRecords;
  ids: RecordIds;
  now: () => Date;
}

/**
 * Deletes a code or refresh token when it is used. If the record does not exist although its id has not expired, this is a second use, on
 * any replica, which ends the grant (RFC 9700, 4.14.2).
 */
function singleUse(model: PresentedModel, store: Adapter, { records, ids, now }: UseParts): Adapter {
  const endGrantOf = async (id: string): Promise<void> => {
    const issued = await ids.read(model, id);
    if (issued !== undefined && issued.grant !== '' && now().getTime() / 1000 < issued.exp) await records.endGrant(issued.grant);
  };
  return {
    ...store,
    async find(id) {
      const isGone = ids.isGone(id);
      const found = await store.find(id);
      if (found === undefined && !isGone) await endGrantOf(id);
      return found;
    },
    async consume(id) {
      if (await records.take(model, id)) return;
      await endGrantOf(id);
      throw new errors.InvalidGrant('already used');
    },
  };
}

/** Access tokens are not stored. An access token is valid as long as its grant. */
const accessTokenAdapter = (records: IdentityRecords, seal: Seal): Adapter => ({
  ...emptyAdapter,
  async find(token) {
    const text = await seal.open(token);
    if (text === undefined) return undefined;
    requestScope().isProven = true;
    return sealedPayload.parse(JSON.parse(text));
  },
  revokeByGrantId: (grantId) => records.removeIssued(grantId),
});

/** Recognizes invented codes and tokens without a call to the API server, and ended ones after the first call. */
const rejectUnknownIds = (model: PresentedModel, store: Adapter, ids: RecordIds): Adapter => ({
  ...store,
  async find(id) {
    if ((await ids.read(model, id)) === undefined) return undefined;
    requestScope().isProven = true;
    if (ids.isGone(id)) return undefined;
    const found = await store.find(id);
    if (found === undefined) ids.hasEnded(id);
    return found;
  },
});

type Guessing = Pick<AdapterParts, 'userCodeGuesses' | 'knownBrowsers'>;

function deviceCodeAdapter(store: Adapter, records: IdentityRecords, { userCodeGuesses, knownBrowsers }: Guessing): Adapter {
  return {
    ...store,
    async findByUserCode(userCode): Promise<AdapterPayload | undefined> {
      const taken = await knownBrowsers.take(requestScope().ctx, userCodeGuesses);
      if ('retryAfterSeconds' in taken) throw new errors.InvalidRequest('too many codes were tried', 429);
      const found = await records.findBy('DeviceCode', 'userCode', userCode);
      if (found !== undefined) userCodeGuesses.giveBack(taken.source);
      return found;
    },
    async upsert(id, payload, ttlSeconds = 0) {
      if (await records.save('DeviceCode', id, payload, ttlSeconds)) return;
      throw new errors.InvalidRequest('the code is being used already');
    },
  };
}

/** Returns the provider's error for temporary failures, such as an API server that cannot be reached: a retry may help. */
export function unavailable(cause: unknown): ProviderError {
  requestScope().ctx.set('Retry-After', '1');
  const error = new errors.OIDCProviderError(503, 'temporarily_unavailable', { cause });
  return Object.assign(error, { expose: true, error_description: 'try again' });
}

const isTemporary = (error: unknown) => error instanceof StatusError && [429, 503, 504].includes(error.status.code);

function guarded(adapter: Adapter): Adapter {
  const guard =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      try {
        return await method(...args);
      } catch (error) {
        throw isTemporary(error) ? unavailable(error) : error;
      }
    };
  return {
    upsert: guard(adapter.upsert),
    find: guard(adapter.find),
    findByUid: guard(adapter.findByUid),
    findByUserCode: guard(adapter.findByUserCode),
    consume: guard(adapter.consume),
    destroy: guard(adapter.destroy),
    revokeByGrantId: guard(adapter.revokeByGrantId),
  };
}

/** A browser accepts 4096 bytes, name and attributes included (RFC 6265, 6.1). */
const maxValueBytes = 3800;

interface BrowserRecordsOptions {
  seal: Seal;
  cookies: CookieFamily;
}

/** Stores records of a pending login in sealed cookies of the browser: an abandoned login leaves nothing in the cluster. */
export class BrowserRecords {
  readonly #options: BrowserRecordsOptions;

  constructor(options: BrowserRecordsOptions) {
    this.#options = options;
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { cookies, seal } = this.#options;
    const value = cookies.find(requestScope().ctx, memberOf(id));
    const text = value && (await seal.open(value));
    if (!text) return undefined;
    const payload = sealedPayload.parse(JSON.parse(text));
    return payload.jti === id ? payload : undefined;
  }

  /** @throws InvalidRequest if the record is too long for a cookie */
  save(id: string, payload: AdapterPayload, ttlSeconds: number): void {
    const { cookies, seal } = this.#options;
    const value = seal.seal(JSON.stringify(payload));
    if (value.length > maxValueBytes) throw new errors.InvalidRequest('the request is too long');
    cookies.set(requestScope().ctx, memberOf(id), value, ttlSeconds);
  }

  remove(id: string): void {
    this.#options.cookies.expire(requestScope().ctx, memberOf(id));
  }
}

const memberOf = (id: string) => hash('sha256', id).slice(0, 16);
