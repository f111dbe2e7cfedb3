import { isRecord, type KubernetesObject, type ResourceType } from '../kubernetes/resource.ts';
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

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function time(value: unknown): number | undefined {
  const milliseconds = Date.parse(text(value));
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** Called once per change of an AccessToken. */
export function accessTokenRow(object: KubernetesObject): AccessTokenRow {
  const { metadata } = object;
  const spec = isRecord(object.spec) ? object.spec : {};
  const status = isRecord(object.status) ? object.status : {};
  const owner = text(spec.owner);
  const subject = isRecord(spec.subject) ? { issuer: text(spec.subject.issuer), sub: text(spec.subject.sub) } : undefined;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: metadata.labels ?? {},
    text: servedText(object, spec),
    owner,
    ownerUID: ownerUIDOf(metadata.ownerReferences, owner),
    ...(subject && { subject }),
    description: text(spec.description),
    tokenHash: text(spec.tokenHash),
    createdAt: Date.parse(metadata.creationTimestamp),
    expiresAt: time(spec.expiration),
    lastUsedAt: time(status.lastUsedTime),
  };
}

function servedText({ metadata, status }: KubernetesObject, spec: Record<string, unknown>): string {
  const { managedFields: _managedFields, ...servedMetadata } = metadata;
  const { tokenHash: _tokenHash, ...servedSpec } = spec;
  const served = { metadata: servedMetadata, spec: servedSpec, ...(isRecord(status) && { status }) };
  return JSON.stringify({ apiVersion: accessTokenApiVersion, kind: 'AccessToken', ...served });
}

function ownerUIDOf(references: unknown, owner: string): string {
  const isOwner = (reference: unknown) =>
    isRecord(reference) &&
    reference.kind === 'User' &&
    text(reference.apiVersion).startsWith(`${userResource.group}/`) &&
    reference.name === owner;
  const found: unknown = Array.isArray(references) ? references.find(isOwner) : undefined;
  return isRecord(found) ? text(found.uid) : '';
}
