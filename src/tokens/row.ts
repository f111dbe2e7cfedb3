import { z } from 'zod';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import type { Subject } from '../users/record/account.ts';
import { userResource } from '../users/record/schema.ts';

/** The custom resource AccessToken; deploy/manifests holds its definition. */
export const accessTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'accesstokens' };

export const accessTokenApiVersion = `${accessTokenResource.group}/${accessTokenResource.version}`;

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
  readonly description: string;
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
    description: z.string().default(''),
    tokenHash: z.string(),
    expiration: time.optional(),
  }),
  status: z.object({ lastUsedTime: time.optional() }).default({}),
});

/** Converts an AccessToken, once for each change. @throws ZodError for an object that the CRD schema would reject */
export function accessTokenRow(object: KubernetesObject): AccessTokenRow {
  const { metadata } = object;
  const { spec, status, metadata: parsed } = storedToken.parse(object);
  const { owner, subject, description, tokenHash, expiration } = spec;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: metadata.labels ?? {},
    text: servedText(object),
    owner,
    ownerUID: parsed.ownerReferences.find((reference) => isOwner(reference, owner))?.uid ?? '',
    ...(subject && { subject }),
    description,
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
  return JSON.stringify({ apiVersion: accessTokenApiVersion, kind: 'AccessToken', metadata: servedMetadata, spec: servedSpec, status });
}
