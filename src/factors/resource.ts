import { z } from 'zod';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';

const group = 'auth.platform.io';

export const factorKind: ResourceKind = { type: { group, version: 'v1', resource: 'factors' }, kind: 'Factor' };
export const factorApiVersion = `${group}/v1`;

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
export type PasskeyFacts = z.output<typeof passkeyFacts>;

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
export function factorOf(object: KubernetesObject): Factor {
  const { metadata, spec, status } = factorObject.parse(object);
  const { name: id, uid, resourceVersion, creationTimestamp: created } = metadata;
  return { id, uid, resourceVersion, created, ...spec, status };
}
