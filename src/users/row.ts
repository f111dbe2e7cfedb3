import { LRUCache } from 'lru-cache';
import { isKubernetesObject, isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { type Account, accountOf } from './record/account.ts';
import { userApiVersion } from './record/resource.ts';

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

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const flag = (value: unknown, whenAbsent: boolean): string => String(typeof value === 'boolean' ? value : whenAbsent);
const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

function seconds(value: unknown): number | undefined {
  const milliseconds = Date.parse(text(value));
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

function traitsOf(spec: Record<string, unknown>, status: Record<string, unknown>): Traits {
  const connectorName = text(spec.connector_name);
  const traits: Traits = {
    connectorType: text(spec.connector_type),
    connectorID: text(spec.connector_id),
    lowerConnectorName: connectorName.toLowerCase(),
    connectorNameOrder: foldForOrder(connectorName),
    state: text(spec.state) || 'active',
    phase: text(status.phase),
    valid: flag(spec.valid, true),
    isAdmin: flag(spec.is_admin, false),
    isDisabled: flag(spec.is_disabled, false),
    lowerGroups: Array.isArray(status.groups) ? status.groups.map((group) => text(group).toLowerCase()) : [],
  };
  const key = JSON.stringify(traits);
  const shared = sharedTraits.get(key);
  if (shared === undefined) sharedTraits.set(key, traits);
  return shared ?? traits;
}

/** Members that no answer may hold, even if they were put there past the schema. */
const secretMembers = new Set(['password', 'old_password', 'hash']);

function servedText({ metadata, spec, status }: KubernetesObject): string {
  const { managedFields: _managedFields, ...servedMetadata } = metadata;
  const servedSpec = Object.fromEntries(Object.entries(record(spec)).filter(([key]) => !secretMembers.has(key)));
  return JSON.stringify({
    apiVersion: userApiVersion,
    kind: 'User',
    metadata: servedMetadata,
    spec: servedSpec,
    ...(isRecord(status) && { status }),
  });
}

/** Called once per change of a User. */
export function userRow(object: KubernetesObject): UserRow {
  const { metadata } = object;
  const spec = record(object.spec);
  const status = record(object.status);
  const once = deduplicator();
  const lower = (value: unknown) => once(text(value).toLowerCase());
  const account = accountOf(object);
  return {
    name: once(metadata.name),
    resourceVersion: metadata.resourceVersion,
    email: once(text(spec.email)),
    username: once(text(spec.username)),
    subjectName: once(account.subjectName),
    text: servedText(object),
    labels: labelsOf(metadata.labels, once),
    traits: traitsOf(spec, status),
    lowerEmail: lower(spec.email),
    lowerUsername: lower(spec.username),
    lowerAccount: lower(spec.account),
    lowerMail: lower(spec.mail),
    lowerMobile: lower(spec.mobile),
    usernameOrder: once(foldForOrder(text(spec.username))),
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

function labelsOf(labels: unknown, once: (value: string) => string): Record<string, string> {
  const strings = Object.entries(record(labels)).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, once(value)] as const] : [],
  );
  return Object.fromEntries(strings);
}
