import { LRUCache } from 'lru-cache';
import { partsOf } from '../api/reader.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/resource.ts';
import { type Account, accountOfRead } from './record/account.ts';
import { userApiVersion } from './record/resource.ts';
import { readUser, type UserSpec, type UserStatus } from './record/schema.ts';

/** What many users have in common; users with equal traits share one object. */
interface Traits {
  readonly connectorType: string;
  readonly connectorID: string;
  readonly lowerConnectorName: string;
  readonly connectorNameOrder: string;
  readonly state: string;
  readonly phase: string;
  readonly valid: string;
  readonly isAdmin: string;
  readonly isDisabled: string;
  /** As the issuer or directory told. */
  readonly lowerGroups: readonly string[];
}

/**
 * What is kept of a User: what lists select, filter and sort by, and the JSON text that is served, so that an answer is put together
 * without encoding anything. What the object does not have stands here with the default of the custom resource definition, else as ''.
 * There may be 100,000 of these: it is flat, and equal texts of a user are one.
 */
export interface UserRow {
  readonly name: string;
  readonly resourceVersion: string;
  /** The user name that Kubernetes sees; '' before the first login. */
  readonly subjectName: string;
  readonly text: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly email: string;
  readonly username: string;
  readonly traits: Traits;
  readonly lowerEmail: string;
  readonly lowerUsername: string;
  readonly lowerAccount: string;
  readonly lowerMail: string;
  readonly lowerMobile: string;
  /** See `foldForOrder`. */
  readonly usernameOrder: string;
  /** Unix time. */
  readonly creationSeconds: number | undefined;
  readonly lastLoginSeconds: number | undefined;
  /** What login needs of it. */
  readonly account: Account;
}

/** Bounds what is shared, not what is kept: combinations beyond these are just kept once per user. */
const sharedTraits = new LRUCache<string, Traits>({ max: 4096 });

function seconds(value = ''): number | undefined {
  const milliseconds = Date.parse(value);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

const asciiOnly = /^[\0-\x7f]*$/;

/**
 * A key whose code unit order is the order people expect of names: letters of either case and with or without accents side by side.
 * Computed once per change, where a collator would compare by rules at every step of a sort.
 */
function foldForOrder(value: string): string {
  const lower = value.toLowerCase();
  return asciiOnly.test(lower) ? lower : lower.normalize('NFKD').replace(/\p{M}+/gu, '');
}

function traitsOf(spec: UserSpec, status: UserStatus): Traits {
  const connectorName = spec.connector_name ?? '';
  const traits: Traits = {
    connectorType: spec.connector_type ?? '',
    connectorID: spec.connector_id ?? '',
    lowerConnectorName: connectorName.toLowerCase(),
    connectorNameOrder: foldForOrder(connectorName),
    state: spec.state || 'active',
    phase: status.phase ?? '',
    valid: String(spec.valid ?? true),
    isAdmin: String(spec.is_admin ?? false),
    isDisabled: String(spec.is_disabled ?? false),
    lowerGroups: (status.groups ?? []).map((group) => group.toLowerCase()),
  };
  const key = JSON.stringify(traits);
  const shared = sharedTraits.get(key);
  if (shared === undefined) sharedTraits.set(key, traits);
  return shared ?? traits;
}

/** Members that no answer may hold, even if they were put there past the schema. */
const secretMembers = new Set(['password', 'old_password', 'hash']);

/** All that is stored, whether or not it is as its schema says. */
function servedText(object: KubernetesObject): string {
  const { managedFields: _managedFields, ...servedMetadata } = object.metadata;
  const { spec = {}, status } = partsOf(object);
  const servedSpec = Object.fromEntries(Object.entries(spec).filter(([key]) => !secretMembers.has(key)));
  return JSON.stringify({
    apiVersion: userApiVersion,
    kind: 'User',
    metadata: servedMetadata,
    spec: servedSpec,
    ...(status && { status }),
  });
}

/** Called once per change of a User. */
export function userRow(object: KubernetesObject): UserRow {
  const { metadata } = object;
  const read = readUser(object);
  const { spec = {}, status = {} } = read;
  const once = deduplicator();
  const lower = (value = '') => once(value.toLowerCase());
  const account = accountOfRead(object, read);
  return {
    name: once(metadata.name),
    resourceVersion: metadata.resourceVersion,
    email: once(account.email),
    username: once(account.username),
    subjectName: once(account.subjectName),
    text: servedText(object),
    labels: labelsOf(metadata.labels, once),
    traits: traitsOf(spec, status),
    lowerEmail: lower(spec.email),
    lowerUsername: lower(spec.username),
    lowerAccount: lower(spec.account),
    lowerMail: lower(spec.mail),
    lowerMobile: lower(spec.mobile),
    usernameOrder: once(foldForOrder(account.username)),
    creationSeconds: seconds(metadata.creationTimestamp),
    lastLoginSeconds: seconds(status.lastLoginTime),
    account,
  };
}

/** The object that the row was made of, but for its managed fields. */
export function storedObject(row: UserRow | undefined): KubernetesObject | undefined {
  const object: unknown = row && JSON.parse(row.text);
  return isKubernetesObject(object) ? object : undefined;
}

/** Gives for equal texts the same one. */
function deduplicator(): (value: string) => string {
  const known: string[] = [];
  return (value) => {
    const same = known.find((other) => other === value);
    if (same === undefined) known.push(value);
    return same ?? value;
  };
}

const labelsOf = (labels: Readonly<Record<string, string>> = {}, once: (value: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, once(value)]));
