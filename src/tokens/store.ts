import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Sweep } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { Account, Subject } from '../users/record/account.ts';
import { userApiVersion, userResource } from '../users/record/schema.ts';
import { type GivenScope, storedScope } from './scope.ts';

/** The custom resource AccessToken; deploy/manifests holds its definition. */
export const accessTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'accesstokens' };

const accessTokenApiVersion = `${accessTokenResource.group}/${accessTokenResource.version}`;

/** Token of a workload, for which a machine user got an access token. */
export interface ExchangedFor {
  readonly issuer: string;
  readonly subject: string;
}

/** Cached AccessToken: members for verification and for selecting, filtering and sorting lists. Times are in Unix milliseconds. */
export interface AccessTokenRow {
  /** Id of the token. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** JSON as it is served, without the hash. */
  readonly text: string;
  /** Name of the User record. */
  readonly owner: string;
  /** UID of that record when the token was created; '' for a token that the service did not create. */
  readonly ownerUID: string;
  /** Account at an external issuer that created the token; absent if another credential created it, or before the field existed. */
  readonly subject?: Subject;
  /** Token that this one was exchanged for; absent for other tokens. */
  readonly exchange?: ExchangedFor;
  readonly description: string;
  /** Part of the owner's rights that the token has; absent for all of them. */
  readonly scope?: GivenScope;
  /** SHA-256 of the secret, in hexadecimal. */
  readonly tokenHash: string;
  readonly createdAt: number;
  /** Undefined for a token that never expires. */
  readonly expiresAt: number | undefined;
  readonly lastUsedAt: number | undefined;
}

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const storedToken = z.object({
  metadata: z.looseObject({
    ownerReferences: z.array(z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() })).default([]),
  }),
  spec: z.object({
    owner: z.string(),
    subject: z.object({ issuer: z.string(), sub: z.string() }).exactOptional(),
    exchange: z.object({ issuer: z.string(), subject: z.string() }).exactOptional(),
    description: z.string().default(''),
    scope: storedScope.exactOptional(),
    tokenHash: z.string(),
    expiration: time.optional(),
  }),
  status: z.object({ lastUsedTime: time.optional() }).default({}),
});

/** Converts an AccessToken, once for each change. @throws ZodError for an object that the CRD schema would reject */
export function accessTokenRow(object: KubernetesObject): AccessTokenRow {
  const { metadata } = object;
  const { spec, status, metadata: parsed } = storedToken.parse(object);
  const { owner, subject, exchange, description, scope, tokenHash, expiration } = spec;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: metadata.labels ?? {},
    text: servedText(object),
    owner,
    ownerUID: parsed.ownerReferences.find((reference) => isOwner(reference, owner))?.uid ?? '',
    ...(subject && { subject }),
    ...(exchange && { exchange }),
    description,
    ...(scope && { scope }),
    tokenHash,
    createdAt: Date.parse(metadata.creationTimestamp),
    expiresAt: expiration,
    lastUsedAt: status.lastUsedTime,
  };
}

const isOwner = ({ kind, apiVersion, name }: { kind: string; apiVersion: string; name: string }, owner: string): boolean =>
  kind === 'User' && apiVersion.startsWith(`${userResource.group}/`) && name === owner;

const servedMembers = z.record(z.string(), z.unknown());

/** Returns the object as JSON, without managed fields and the hash of the secret. */
function servedText({ metadata, spec, status }: KubernetesObject): string {
  const { managedFields: _managedFields, ...servedMetadata } = metadata;
  const { tokenHash: _tokenHash, ...servedSpec } = servedMembers.parse(spec);
  return JSON.stringify({
    apiVersion: accessTokenApiVersion,
    kind: 'AccessToken',
    metadata: servedMetadata,
    spec: { cluster: localCluster, ...servedSpec },
    status,
  });
}

export const accessTokenKind: ResourceKind = { type: accessTokenResource, kind: 'AccessToken' };

interface StoredToken {
  id: string;
  owner: Account;
  /** Account at an external issuer that creates the token; undefined for other credentials. */
  subject: Subject | undefined;
  exchange?: ExchangedFor;
  description: string;
  scope: GivenScope | undefined;
  tokenHash: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** Creates an AccessToken with an owner reference, so that it is deleted with the user. @throws StatusError 503, 504 */
export async function storeToken(
  client: ServiceClient,
  { id, owner, subject, exchange, description, scope, tokenHash, issuedAt, expiresAt }: StoredToken,
  { isDryRun, signal }: { isDryRun: boolean; signal: AbortSignal },
): Promise<KubernetesObject> {
  const { name, uid, email: ownerEmail } = owner;
  const times = { issuedAt: timestamp(issuedAt), expiration: timestamp(expiresAt) };
  const origin = { ...(subject && { subject }), ...(exchange && { exchange }) };
  const spec = { owner: name, ownerEmail, ...origin, description, ...(scope && { scope }), tokenHash, ...times };
  const ownerReferences = [{ apiVersion: userApiVersion, kind: 'User', name, uid }];
  const object = { apiVersion: accessTokenApiVersion, kind: 'AccessToken', metadata: { name: id, ownerReferences }, spec };
  const created = await new ServiceResource(client, accessTokenKind).create(object, { isDryRun, signal });
  if (created === 'conflict') throw serviceUnavailable('kubernetes', { cause: new Error('there is an AccessToken of that name') });
  return created;
}

/** Deletes the token with this UID. @returns whether it existed; @throws StatusError 503, 504 */
export const removeToken = (client: ServiceClient, { name, uid }: AccessTokenRow, { signal }: { signal: AbortSignal }): Promise<boolean> =>
  new ServiceResource(client, accessTokenKind).remove(name, { preconditions: { uid }, signal });

/** Deletes all tokens of a User record with the service account, because the user's access ends. @throws StatusError 503, 504 */
export async function removeTokensOf(
  client: ServiceClient,
  { cache, rows }: Collection<AccessTokenRow>,
  { uid }: { uid: string },
  signal: AbortSignal,
): Promise<void> {
  if (cache.state === 'notInstalled') return;
  const owned = [...(await rows(signal))].filter(({ ownerUID }) => ownerUID === uid);
  for (const row of owned) await removeToken(client, row, { signal });
  await cache.waitForWrite(() => owned.every((row) => cache.get(row.name)?.uid !== row.uid), signal);
}

/** Returns the time after which nobody may use a token any more, because nobody has used it for that long. */
export const unusedEndOf = ({ createdAt, lastUsedAt = createdAt }: AccessTokenRow, unusedDays: number): number =>
  Math.max(createdAt, lastUsedAt) + unusedDays * 86_400_000;

/** Retention after the end, during which the owner still sees the token in the list. */
const keptMs = 7 * 86_400_000;
const maxPerRun = 200;

/** Deletes access tokens a week after they expired, or ended because nobody used them. */
export const accessTokenSweep = (
  { client, now, unusedDays }: Pick<Services, 'client' | 'now'> & { unusedDays: number },
  tokens: { values(): Iterable<AccessTokenRow> },
): Sweep => ({
  what: 'access tokens',
  everyMs: 3_600_000,
  async sweep(signal) {
    const before = now().getTime() - keptMs;
    const endOf = (row: AccessTokenRow) => Math.min(row.expiresAt ?? Number.POSITIVE_INFINITY, unusedEndOf(row, unusedDays));
    const ended = [...tokens.values()].filter((row) => endOf(row) < before).slice(0, maxPerRun);
    for (const row of ended) await removeToken(client, row, { signal });
    return ended.length;
  },
});

const everyMs = 300_000;
const maxPending = 100;
const maxTried = 20_000;

/** Records when tokens were last used, at most every five minutes for each token. No request waits for it or fails because of it. */
export class LastUse {
  readonly #services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>;
  readonly #stopping = new AbortController();
  /** Time of this replica's last attempt to record a use, by UID of the token. */
  readonly #tried = new LRUCache<string, number>(atMost(maxTried));
  readonly #pending = new Set<Promise<void>>();

  constructor(services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>) {
    this.#services = services;
  }

  /** Never throws. A use that is skipped because too many writes are pending is made up for by the next use. */
  note(row: AccessTokenRow): void {
    const { now, clock, log } = this.#services;
    const time = now();
    if (row.lastUsedAt !== undefined && time.getTime() - row.lastUsedAt < everyMs) return;
    if (clock() - (this.#tried.get(row.uid) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (this.#pending.size >= maxPending || this.#stopping.signal.aborted) return;
    this.#tried.set(row.uid, clock());
    const writing = this.#write(row, time)
      .catch((error: unknown) => log.debug({ accessToken: row.name, err: error }, 'last use of an access token could not be recorded'))
      .finally(() => this.#pending.delete(writing));
    this.#pending.add(writing);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.all(this.#pending);
  }

  /** Writes only to the version that this replica has seen: if another replica was faster, its timestamp is as good. */
  async #write({ name, uid, resourceVersion }: AccessTokenRow, time: Date): Promise<void> {
    const change = { metadata: { uid, resourceVersion }, status: { lastUsedTime: timestamp(time) } };
    await new ServiceResource(this.#services.client, accessTokenKind).patchStatus(name, change, { signal: this.#stopping.signal });
  }
}
