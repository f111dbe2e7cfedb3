import { z } from 'zod';
import { StatusError, serviceUnavailable } from '../api/status.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import { type ResourceType, resourcePath } from '../kubernetes/resource.ts';

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const secretObject = z.looseObject({ data: z.record(z.string(), z.base64()).default({}) });

/** Entries of a Secret, decoded. */
export type Entries = Readonly<Record<string, string>>;

/** What is in the Secret, and the object as it came. */
export interface SecretContent {
  readonly entries: Entries;
  readonly object: Readonly<Record<string, unknown>>;
}

/** One Secret that replicas make and complete together: the first wins, and the others take what they find. */
export class KeySecret {
  readonly #client: ServiceClient;
  readonly #namespace: string;
  readonly #name: string;

  constructor(client: ServiceClient, namespace: string, name: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#name = name;
  }

  /** What is there, or what `make` gives if there is nothing. */
  async getOrCreate(make: () => Promise<Entries>, signal: AbortSignal): Promise<SecretContent> {
    const found = (await this.read(signal)) ?? (await this.#create(await make(), signal)) ?? (await this.read(signal));
    if (found === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('the Secret was deleted meanwhile') });
    return found;
  }

  /** Adds entries to what was read, unless the Secret has changed since; what is there then comes back. */
  async add(entries: Entries, { object }: SecretContent, signal: AbortSignal): Promise<SecretContent> {
    const { data } = secretObject.parse(object);
    const body = { ...object, data: { ...data, ...encoded(entries) } };
    const path = resourcePath(secrets, { namespace: this.#namespace, name: this.#name });
    const call = { method: 'PUT', path, body, call: 'update secrets', signal } as const;
    const updated = (await unless(409, this.#client.request(call))) ?? (await this.read(signal))?.object;
    return contentOf(updated);
  }

  /** What is there; undefined if there is nothing. */
  async read(signal: AbortSignal): Promise<SecretContent | undefined> {
    const path = resourcePath(secrets, { namespace: this.#namespace, name: this.#name });
    const object = await unless(404, this.#client.request({ method: 'GET', path, call: 'get secrets', signal }));
    return object === undefined ? undefined : contentOf(object);
  }

  /** Undefined if another replica was first. */
  async #create(entries: Entries, signal: AbortSignal): Promise<SecretContent | undefined> {
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: this.#name, labels: { 'app.kubernetes.io/part-of': 'atrium' } },
      type: 'Opaque',
      data: encoded(entries),
    };
    const path = resourcePath(secrets, { namespace: this.#namespace });
    const object = await unless(409, this.#client.request({ method: 'POST', path, body, call: 'create secrets', signal }));
    return object === undefined ? undefined : contentOf(object);
  }
}

async function unless(code: number, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === code) return undefined;
    throw error;
  }
}

const encoded = (entries: Entries) =>
  Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));

function contentOf(object: unknown): SecretContent {
  const secret = secretObject.parse(object);
  const entries = Object.entries(secret.data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()] as const);
  return { entries: Object.fromEntries(entries), object: secret };
}
