import { LRUCache } from 'lru-cache';
import type { AccountLookup } from '../accounts/lookup.ts';
import { userApiVersion, userResource } from '../accounts/user-resource.ts';
import type { Caller } from '../http/operation.ts';
import { badParameter, notFound, passwordDue, serviceUnavailable, timedOut } from '../http/status.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { ContinueTokens } from './continue-token.ts';
import { parseQuery, queryKey } from './query.ts';
import type { UserRow } from './row.ts';
import type { ListParameters } from './schema.ts';
import { indexAfter, type Position, positionOf } from './sort.ts';
import type { UserIndex } from './user-index.ts';

const freshnessTimeoutMs = 3_000;
const firstListMs = 1_000;
/** A watch that is cut is back sooner; one that is not (its rights were taken away) must not leave an old list standing for ever. */
const maxAgeSeconds = 60;

/** The bytes of an answer, as of a moment. */
interface Page {
  readonly resourceVersion: string;
  readonly bytes: Buffer;
}

export interface UserServiceOptions {
  /** All users, by name. */
  users: WatchCache<UserRow>;
  /** The same, as log-in sees them. */
  accounts: Pick<AccountLookup, 'ofSubject'>;
  index: UserIndex;
  access: AccessReviews;
  continueTokens: ContinueTokens;
  /** Resolves once there are keys to seal `continue` with, or none can be had for now. */
  keysSettled: () => Promise<void>;
}

/** Lists and shows users out of the watch cache, after the API server has said that the caller may see them. */
export class UserService {
  readonly #options: UserServiceOptions;
  /** Answered again while no user has changed. Not for long, as the continue token in it grows old. */
  readonly #pages = new LRUCache<string, Page>({ maxSize: 32 * 1024 * 1024, sizeCalculation: ({ bytes }) => bytes.length, ttl: 60_000 });

  constructor(options: UserServiceOptions) {
    this.#options = options;
  }

  /** @returns the JSON text of a UserList, in UTF-8; @throws StatusError 400, 403, 410, 503, 504 */
  async list(parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Buffer> {
    const { users, access } = this.#options;
    await access.require(caller, { ...userResource, verb: 'list' }, signal);
    await this.#requireUsers(signal);
    await this.#waitFor(parameters, signal);
    const key = pageKey(parameters);
    const kept = key === undefined ? undefined : this.#pages.get(key);
    if (kept?.resourceVersion === users.resourceVersion) return kept.bytes;
    const page = await this.#page(parameters);
    if (key !== undefined) this.#pages.set(key, page);
    return page.bytes;
  }

  /** The caller's own record, or one that he may get. @throws StatusError 403 whether or not there is such a user, 404, 503 */
  async get(name: string, caller: Caller, signal: AbortSignal): Promise<UserRow> {
    const { users, access } = this.#options;
    await this.#requireUsers(signal);
    if (!isSelf(users.get(name), caller)) {
      if (caller.mustChangePassword) throw passwordDue();
      await access.require(caller, { ...userResource, verb: 'get', name }, signal);
    }
    const row = users.get(name);
    if (row === undefined) throw notFound(userResource, name);
    return row;
  }

  /** The caller's record. @throws StatusError 404 if there is none, 503 */
  async own(caller: Caller, signal: AbortSignal): Promise<UserRow> {
    const { users, accounts } = this.#options;
    await this.#requireUsers(signal);
    const name = caller.user ?? accounts.ofSubject(caller.identity.name)?.name ?? '';
    const row = users.get(name);
    if (row === undefined || !isSelf(row, caller)) throw notFound(userResource, name);
    return row;
  }

  /** All users as they are then. @throws StatusError 503 */
  async all(signal: AbortSignal): Promise<Iterable<UserRow>> {
    await this.#requireUsers(signal);
    return this.#options.users.values();
  }

  async #page(parameters: ListParameters): Promise<Page> {
    const { users, index, continueTokens } = this.#options;
    const { query } = await index.select(parameters);
    const after = await this.#positionAfter(parameters, query.fingerprint);
    // Again, since users may have changed while the token was read. From here on nothing is awaited: the page is of one moment.
    const { rows } = await index.select(parameters);
    const { resourceVersion } = users;
    const { items, remaining } = slice(rows, parameters, after && indexAfter(rows, after, query.sortKeys));
    const last = items.at(-1);
    const next = remaining > 0 && last !== undefined ? continueTokens.issue(positionOf(last, query.sortKeys), query.fingerprint) : '';
    const metadata = { resourceVersion, continue: next, remainingItemCount: remaining };
    return { resourceVersion, bytes: Buffer.from(listText({ metadata, total: rows.length, items })) };
  }

  async #requireUsers(signal: AbortSignal): Promise<void> {
    const { users, keysSettled } = this.#options;
    // Who asks right after the start need not try again while the first list is under way.
    if (!users.isSynced && users.failure() === undefined) {
      await users.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(firstListMs)])).catch(() => undefined);
      signal.throwIfAborted();
    }
    await keysSettled();
    const isOutdated = users.isStale() && (users.ageSeconds() > maxAgeSeconds || isNotInstalled(users.failure()));
    if (!users.isSynced || isOutdated)
      throw serviceUnavailable('kubernetes', { cause: new Error(`users: ${users.failure() ?? 'not listed yet'}`) });
  }

  async #waitFor(parameters: ListParameters, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = parameters;
    if (resourceVersion === '' || resourceVersion === '0') return;
    // What is wrong with the rest is said at once, and not after a wait, or instead of its end.
    await this.#positionAfter(parameters, parseQuery(parameters).fingerprint);
    if (!(await this.#options.users.waitFor(resourceVersion, freshnessTimeoutMs, signal))) throw timedOut('kubernetes');
  }

  async #positionAfter({ continue: token, page }: ListParameters, fingerprint: string): Promise<Position | undefined> {
    if (token === '') return undefined;
    if (page !== undefined) throw badParameter('continue', 'cannot be used together with page');
    return this.#options.continueTokens.read(token, fingerprint);
  }
}

const isSelf = (row: UserRow | undefined, { identity }: Caller): boolean =>
  row !== undefined && row.subjectName !== '' && row.subjectName === identity.name;

/** Says that the API server does not know the resource. */
const isNotInstalled = (failure: string | undefined) => failure?.startsWith('404') ?? false;

/** Nobody asks for the same page behind a token again. */
const pageKey = (parameters: ListParameters): string | undefined =>
  parameters.continue === '' ? `${parameters.page ?? 1} ${parameters.limit} ${queryKey(parameters)}` : undefined;

interface Slice {
  items: readonly UserRow[];
  /** How many follow. */
  remaining: number;
}

function slice(rows: readonly UserRow[], { page = 1, limit }: ListParameters, indexAfterToken: number | undefined): Slice {
  const start = indexAfterToken ?? (page - 1) * limit;
  const end = start + limit;
  return { items: rows.slice(start, end), remaining: Math.max(0, rows.length - end) };
}

interface ListParts {
  metadata: { resourceVersion: string; continue: string; remainingItemCount: number };
  total: number;
  items: readonly UserRow[];
}

/** Joined, not encoded: the texts of the users were made when the users changed. */
function listText({ metadata, total, items }: ListParts): string {
  const texts = items.map(({ text }) => text).join();
  return `{"apiVersion":"${userApiVersion}","kind":"UserList","metadata":${JSON.stringify(metadata)},"total":${total},"items":[${texts}]}`;
}
