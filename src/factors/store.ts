import { hash } from 'node:crypto';
import type { Seal } from '@atrium/http/seal.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { isNotInstalled } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { userApiVersion } from '../users/record/schema.ts';

const group = 'auth.platform.io';

export const factorKind: ResourceKind = { type: { group, version: 'v1', resource: 'factors' }, kind: 'Factor' };
const factorApiVersion = `${group}/v1`;

const factorType = z.enum(['Passkey', 'TOTP', 'RecoveryCodes']);
type FactorType = z.output<typeof factorType>;

const factorStatus = z.object({
  lastStep: z.int().exactOptional(),
  used: z.array(z.int()).exactOptional(),
  lastUsedTime: z.iso.datetime({ offset: true }).exactOptional(),
  suspectedTime: z.iso.datetime({ offset: true }).exactOptional(),
  signCount: z.int().exactOptional(),
});
export type FactorStatus = z.output<typeof factorStatus>;

/** Unsealed properties of a passkey: hints by which browsers find it, and properties that never change. */
const passkeyFacts = z.object({
  rpID: z.string(),
  aaguid: z.string().exactOptional(),
  backupEligible: z.boolean().exactOptional(),
  discoverable: z.boolean().exactOptional(),
  transports: z.array(z.string()).exactOptional(),
});
type PasskeyFacts = z.output<typeof passkeyFacts>;

const factorObject = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string(), creationTimestamp: z.string() }),
  spec: z.object({
    user: z.string(),
    userUID: z.string(),
    type: factorType,
    name: z.string().default(''),
    sealed: z.string(),
    passkey: passkeyFacts.exactOptional(),
  }),
  status: factorStatus.default({}),
});

/** Parsed Factor object. */
export interface Factor {
  readonly id: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly created: string;
  readonly user: string;
  readonly userUID: string;
  readonly type: FactorType;
  /** Name that the owner chose; may be ''. */
  readonly name: string;
  readonly sealed: string;
  /** Present for a passkey only. */
  readonly passkey?: PasskeyFacts;
  readonly status: FactorStatus;
}

/** @throws ZodError for an object that the CRD schema would reject */
function factorOf(object: KubernetesObject): Factor {
  const { metadata, spec, status } = factorObject.parse(object);
  const { name: id, uid, resourceVersion, creationTimestamp: created } = metadata;
  return { id, uid, resourceVersion, created, ...spec, status };
}

/** Name and uid of a User record. */
export interface FactorOwner {
  readonly name: string;
  readonly uid: string;
}

interface NewPasskey {
  /** Name that the owner chose. */
  name: string;
  /** base64url */
  credentialID: string;
  content: object;
  passkey: PasskeyFacts;
}

/** Sealed content with its owner and type: the sealed text of one user is not valid in an object of another. */
const sealedContent = z.object({ userUID: z.string(), type: z.string(), content: z.unknown() });

const prefixes = { TOTP: 't', RecoveryCodes: 'r' } as const;

/** Types of which a user has at most one. The object name is derived from the user, so the API server refuses a second one. */
type SingleType = keyof typeof prefixes;

/** Returns the object name of a passkey, derived from its credential id: no credential belongs to two users. */
export const passkeyName = (credentialID: string): string => `p-${hash('sha256', Buffer.from(credentialID, 'base64url'))}`;

/**
 * Reads and writes Factor objects with the service account. Every read goes to the API server, never to a cache: this replica must
 * require a factor that was set up a moment ago on another replica.
 */
export class FactorStore {
  readonly #factors: ServiceResource;
  readonly #services: Services;
  readonly #seal: Seal;
  /** True once a list has succeeded. From then on, factors that are not installed are a fault, because users may have had some. */
  #isInstalled = false;

  constructor(services: Services) {
    const { client, namespace, keyRing } = services;
    this.#services = services;
    this.#factors = new ServiceResource(client, { ...factorKind, namespace });
    this.#seal = keyRing.sealFor('factors');
  }

  /** Lists the factors of a user, oldest first; none if the resource was never installed. @throws StatusError 503, 504 */
  async list({ name, uid }: FactorOwner, signal: AbortSignal): Promise<Factor[]> {
    const found: Factor[] = [];
    await this.#read(async () => {
      for await (const object of this.#factors.list({ fieldSelector: `spec.userUID=${uid}` }, signal)) found.push(factorOf(object));
    });
    return found.filter(({ user }) => user === name).sort((a, b) => Date.parse(a.created) - Date.parse(b.created));
  }

  /** Reports whether the user has a second factor, which a login then requires. @throws StatusError 503, 504 */
  async isAskedOf(user: FactorOwner, signal: AbortSignal): Promise<boolean> {
    return (await this.list(user, signal)).length > 0;
  }

  /** Creates the factor, or replaces the existing one. @throws StatusError 503, also if another request does so concurrently; 504 */
  async put(owner: FactorOwner, type: SingleType, content: object, signal: AbortSignal): Promise<Factor> {
    const name = `${prefixes[type]}-${hash('sha256', owner.uid)}`;
    const object = this.#objectOf(owner, { name, type, content });
    let created = await this.#factors.create(object, { signal });
    if (created === 'conflict') {
      await this.#factors.remove(name, { signal });
      created = await this.#factors.create(object, { signal });
    }
    if (created === 'conflict') throw serviceUnavailable('kubernetes', { cause: new Error('another request sets it up at the same time') });
    return factorOf(created);
  }

  /** @returns undefined if the credential is already registered, for this user or another; @throws StatusError 503, 504 */
  async addPasskey(
    owner: FactorOwner,
    { name, credentialID, content, passkey }: NewPasskey,
    signal: AbortSignal,
  ): Promise<Factor | undefined> {
    const { metadata, spec, ...object } = this.#objectOf(owner, { name: passkeyName(credentialID), type: 'Passkey', content });
    const created = await this.#factors.create({ ...object, metadata, spec: { ...spec, name, passkey } }, { signal });
    return created === 'conflict' ? undefined : factorOf(created);
  }

  /** Finds a factor by its object name. @throws StatusError 503, 504 */
  async find(id: string, signal: AbortSignal): Promise<Factor | undefined> {
    const object = await this.#read(() => this.#factors.getByList(id, signal));
    return object && factorOf(object);
  }

  /** Returns undefined if the resource was never installed. */
  async #read<T>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      const found = await read();
      this.#isInstalled = true;
      return found;
    } catch (error) {
      if (isNotInstalled(error) && !this.#isInstalled) return undefined;
      throw error;
    }
  }

  #objectOf(owner: FactorOwner, { name, type, content }: { name: string; type: Factor['type']; content: object }) {
    const sealed = this.#seal.seal(JSON.stringify({ userUID: owner.uid, type, content }));
    return {
      apiVersion: factorApiVersion,
      kind: factorKind.kind,
      metadata: {
        name,
        namespace: this.#services.namespace,
        ownerReferences: [{ apiVersion: userApiVersion, kind: 'User', name: owner.name, uid: owner.uid }],
      },
      spec: { user: owner.name, userUID: owner.uid, type, sealed },
    };
  }

  /** Opens the content of a factor; undefined if it was sealed for another user or type. @throws StatusError 503 while there is no key */
  async contentOf({ sealed, userUID, type }: Factor): Promise<unknown> {
    const text = await this.#seal.open(sealed);
    if (text === undefined) return undefined;
    const { data } = sealedContent.safeParse(JSON.parse(text));
    return data?.userUID === userUID && data.type === type ? data.content : undefined;
  }

  /** Records a use, unless another request was faster. @returns whether it was recorded; @throws StatusError 503, 504 */
  async use({ id, uid, resourceVersion }: Factor, status: FactorStatus, signal: AbortSignal): Promise<boolean> {
    const lastUsedTime = timestamp(this.#services.now());
    const change = { metadata: { uid, resourceVersion }, status: { ...status, lastUsedTime } };
    const written = await this.#factors.patchStatus(id, change, { signal });
    return written !== 'conflict' && written !== 'gone';
  }

  /** Marks a passkey as possibly cloned: it is no longer valid. @throws StatusError 503, 504 */
  async suspect({ id, uid }: Factor, signal: AbortSignal): Promise<void> {
    const suspectedTime = timestamp(this.#services.now());
    await this.#factors.patchStatus(id, { metadata: { uid }, status: { suspectedTime } }, { signal });
  }

  /** @returns the renamed factor, undefined if another request changed or deleted it; @throws StatusError 503, 504 */
  async rename({ id, uid, resourceVersion }: Factor, name: string, signal: AbortSignal): Promise<Factor | undefined> {
    const written = await this.#factors.patch(id, { metadata: { uid, resourceVersion }, spec: { name } }, { signal });
    return written === 'conflict' || written === 'gone' ? undefined : factorOf(written);
  }

  /** @returns whether it existed; @throws StatusError 503, 504 */
  remove({ id, uid }: Factor, signal: AbortSignal): Promise<boolean> {
    return this.#factors.remove(id, { preconditions: { uid }, signal });
  }
}
