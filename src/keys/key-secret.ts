import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { type ResourceType, resourcePath } from '@atrium/kubernetes/resource.ts';
import { isGone, isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);

/** RFC 7517 section 5 and RFC 7518 section 6.3: RSA private keys of 2048 bits. */
const jwkSet = z.object({
  keys: z
    .array(
      z.object({
        kty: z.literal('RSA'),
        n: z.string().regex(/^[A-Za-z0-9_-]{342}$/),
        e: base64url,
        d: base64url,
        p: base64url,
        q: base64url,
        dp: base64url,
        dq: base64url,
        qi: base64url,
      }),
    )
    .min(1),
});

/** Private keys. The public half of the first one is published; the keys behind it still decrypt. */
export type PasswordKeys = readonly JWK[];

/** Creates an RSA key of 2048 bits outside the event loop. */
export async function createPasswordKeys(): Promise<PasswordKeys> {
  const { privateKey } = await generateKeyPair('RSA-OAEP-256', { modulusLength: 2048, extractable: true });
  return [await exportJWK(privateKey)];
}

/** @throws SyntaxError, ZodError */
export const parsePasswordKeys = (text: string): PasswordKeys => jwkSet.parse(JSON.parse(text)).keys;

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const secretObject = z.looseObject({ data: z.record(z.string(), z.base64()).default({}) });

/** Entries of a Secret, decoded. */
export type Entries = Readonly<Record<string, string>>;

/** Decoded entries of the Secret, and the object as the API server sent it. */
export interface SecretContent {
  readonly entries: Entries;
  readonly object: Readonly<Record<string, unknown>>;
}

/** A Secret that replicas create and complete together: the first write wins, and the other replicas take its content. */
export class KeySecret {
  readonly #client: ServiceClient;
  readonly #namespace: string;
  readonly #name: string;

  constructor(client: ServiceClient, namespace: string, name: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#name = name;
  }

  /** Returns the content of the Secret, and creates it with the entries of `make` if it does not exist. */
  async getOrCreate(make: () => Promise<Entries>, signal: AbortSignal): Promise<SecretContent> {
    const found = (await this.read(signal)) ?? (await this.#create(await make(), signal)) ?? (await this.read(signal));
    if (found === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('the Secret was deleted meanwhile') });
    return found;
  }

  /** Adds entries to the content that was read. After a conflict, returns the content that is stored now, without adding to it. */
  async add(entries: Entries, { object }: SecretContent, signal: AbortSignal): Promise<SecretContent> {
    const { data } = secretObject.parse(object);
    const body = { ...object, data: { ...data, ...encoded(entries) } };
    const path = resourcePath(secrets, { namespace: this.#namespace, name: this.#name });
    const call = { method: 'PUT', path, body, call: 'update secrets', signal } as const;
    const updated = (await this.#client.request(call).catch(ignoreConflict)) ?? (await this.read(signal))?.object;
    return contentOf(updated);
  }

  /** Returns the content of the Secret, undefined if it does not exist. */
  async read(signal: AbortSignal): Promise<SecretContent | undefined> {
    const path = resourcePath(secrets, { namespace: this.#namespace, name: this.#name });
    const object = await this.#client.request({ method: 'GET', path, call: 'get secrets', signal }).catch((error: unknown) => {
      if (!isGone(error, secrets, this.#name)) throw error;
    });
    return object === undefined ? undefined : contentOf(object);
  }

  /** Creates the Secret. Returns undefined if another replica was first. */
  async #create(entries: Entries, signal: AbortSignal): Promise<SecretContent | undefined> {
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: this.#name, labels: { 'app.kubernetes.io/part-of': 'atrium' } },
      type: 'Opaque',
      data: encoded(entries),
    };
    const path = resourcePath(secrets, { namespace: this.#namespace });
    const object = await this.#client.request({ method: 'POST', path, body, call: 'create secrets', signal }).catch(ignoreConflict);
    return object === undefined ? undefined : contentOf(object);
  }
}

function ignoreConflict(error: unknown): undefined {
  if (!isRefusal(error, 409)) throw error;
}

const encoded = (entries: Entries) =>
  Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));

function contentOf(object: unknown): SecretContent {
  const secret = secretObject.parse(object);
  const entries = Object.entries(secret.data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()] as const);
  return { entries: Object.fromEntries(entries), object: secret };
}
