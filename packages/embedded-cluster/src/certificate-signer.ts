/**
 * Signs client certificates that were requested and approved, like the signing controller of a cluster does behind its API.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
 */

import { clientSigner, conditionsOf } from './certificate-requests.ts';
import { type Authority, createClientCertificate } from './certificates.ts';
import { keyOf, type StoredObject, timestamp, valueAt } from './objects.ts';
import type { Backend } from './resources.ts';
import { parseSigningRequest } from './signing-request.ts';

const collection = 'certificates.k8s.io/certificatesigningrequests';
const longestSeconds = 365 * 24 * 3600;
const harmlessUsages = ['client auth', 'digital signature', 'key encipherment'];

/** Follows the requests until it is stopped. */
export class CertificateSigner {
  readonly #backend: Backend;
  readonly #authority: Authority;
  readonly #unsubscribe: () => void;
  readonly #signing = new Set<string>();

  constructor(backend: Backend, authority: Authority) {
    this.#backend = backend;
    this.#authority = authority;
    this.#unsubscribe = backend.store.subscribe(({ collection: changed, type, object }) => {
      if (changed === collection && type !== 'DELETED') this.#consider(object);
    });
    for (const object of backend.store.list(collection) ?? []) this.#consider(object);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #consider(object: StoredObject): void {
    const { uid } = object.metadata;
    if (!isDue(object) || this.#signing.has(uid)) return;
    this.#signing.add(uid);
    void this.#outcome(object)
      .then((outcome) => this.#write(object, outcome))
      .finally(() => this.#signing.delete(uid));
  }

  /** Returns the new fields of the status: a certificate, or the reason of a failure. */
  async #outcome({ spec }: StoredObject): Promise<Record<string, unknown> | { failure: string }> {
    const failure = usageProblem(valueAt(spec, ['usages']));
    if (failure !== undefined) return { failure };
    const asked = valueAt(spec, ['expirationSeconds']);
    const seconds = typeof asked === 'number' ? Math.min(asked, longestSeconds) : longestSeconds;
    const { subjectName, publicKey } = parseSigningRequest(valueAt(spec, ['request']));
    const now = this.#backend.now();
    const certificate = await createClientCertificate(this.#authority, { subject: subjectName, publicKey, seconds, now });
    return { certificate: Buffer.from(certificate).toString('base64') };
  }

  #write(asked: StoredObject, outcome: Record<string, unknown> | { failure: string }): void {
    const object = this.#backend.store.get(collection, keyOf(asked));
    if (object?.metadata.uid !== asked.metadata.uid || !isDue(object)) return;
    const status = { ...(valueAt(object, ['status']) ?? {}) };
    const now = timestamp(this.#backend.now());
    const failed = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', lastUpdateTime: now, lastTransitionTime: now };
    const change = 'failure' in outcome ? { conditions: [...conditionsOf(object), { ...failed, message: outcome.failure }] } : outcome;
    this.#backend.store.put(collection, { ...object, status: { ...status, ...change } });
  }
}

function isDue(object: StoredObject): boolean {
  if (valueAt(object, ['spec', 'signerName']) !== clientSigner || valueAt(object, ['status', 'certificate'])) return false;
  const types = conditionsOf(object).map(({ type }) => type);
  return types.includes('Approved') && !types.includes('Failed');
}

function usageProblem(usages: unknown): string | undefined {
  const given = Array.isArray(usages) ? usages : [];
  const other = given.find((usage) => !harmlessUsages.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return given.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}
