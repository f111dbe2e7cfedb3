import { z } from 'zod';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import type { Subject } from '../users/record/account.ts';
import { userResource } from '../users/record/resource.ts';

/** The custom resource AccessToken; deploy/manifests holds its definition. */
export const accessTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'accesstokens' };

export const accessTokenApiVersion = `${accessTokenResource.group}/${accessTokenResource.version}`;

/** What is kept of an AccessToken: what it counts by, and what lists select, filter and sort by. Times in milliseconds since 1970. */
export interface AccessTokenRow {
  /** The id of the token. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** JSON as it is served, without the hash. */
  readonly text: string;
  /** Name of the User record. */
  readonly owner: string;
  /** Uid of that record when the token was made; '' in one that the service did not make. */
  readonly ownerUID: string;
  /** Who made it at an external issuer; absent of a token that another credential made, and of one older than the field. */
  readonly subject?: Subject;
  readonly description: string;
  /** SHA-256 of the secret, in hexadecimal. */
  readonly tokenHash: string;
  readonly createdAt: number;
  /** Undefined for never. */
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

/** Called once per change of an AccessToken. @throws ZodError for an object that its definition would not let in */
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

/** All of it, but for the hash of the secret. */
function servedText({ metadata, spec, status }: KubernetesObject): string {
  const { managedFields: _managedFields, ...servedMetadata } = metadata;
  const { tokenHash: _tokenHash, ...servedSpec } = servedMembers.parse(spec);
  return JSON.stringify({ apiVersion: accessTokenApiVersion, kind: 'AccessToken', metadata: servedMetadata, spec: servedSpec, status });
}
