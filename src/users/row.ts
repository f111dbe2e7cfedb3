import { SharedValues } from '@atrium/http/limits/bounded-cache.ts';
import { isKubernetesObject, type KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { AlikeTexts, type KeptText } from '@atrium/lists/alike-texts.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { type Account, accountOfRead } from './record/account.ts';
import { readUser, type UserSpec, type UserStatus, userApiVersion } from './record/schema.ts';

/**
 * Properties by which users are selected, filtered and sorted. Field selectors work here even if the API server does not support selectable
 * fields.
 */
export const userProperties: ListProperties<UserRow> = {
  searched: new Map<string, (row: UserRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['email', (row) => row.lowerEmail],
    ['username', (row) => row.lowerUsername],
    ['account', (row) => row.lowerAccount],
    ['mail', (row) => row.lowerMail],
    ['mobile', (row) => row.lowerMobile],
    ['connector_name', (row) => row.traits.lowerConnectorName],
    ['groups', (row) => row.traits.lowerGroups],
  ]),
  search: ['name', 'email', 'username'],
  compared: new Map<string, (row: UserRow) => string>([
    ['state', (row) => row.traits.state],
    ['phase', (row) => row.traits.phase],
    ['connector_id', (row) => row.traits.connectorID],
    ['connector_type', (row) => row.traits.connectorType],
    ['valid', (row) => row.traits.valid],
    ['is_admin', (row) => row.traits.isAdmin],
    ['is_disabled', (row) => row.traits.isDisabled],
  ]),
  sorted: new Map<string, (row: UserRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['email', (row) => row.lowerEmail || undefined],
    ['username', (row) => row.usernameOrder || undefined],
    ['creationTimestamp', (row) => row.creationSeconds],
    ['last_login_time', (row) => row.lastLoginSeconds],
    ['phase', (row) => row.traits.phase || undefined],
    ['connector_name', (row) => row.traits.connectorNameOrder || undefined],
  ]),
  selectable: new Map<string, (row: UserRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.email', (row) => row.email],
    ['spec.username', (row) => row.username],
    ['spec.connector_id', (row) => row.traits.connectorID],
    ['spec.connector_type', (row) => row.traits.connectorType],
    ['spec.state', (row) => row.traits.state],
    ['spec.valid', (row) => row.traits.valid],
    ['spec.is_disabled', (row) => row.traits.isDisabled],
    ['status.phase', (row) => row.traits.phase],
  ]),
  defaultSort: 'a,username',
};

/** Properties that many users have in common. Users with equal traits share one object. */
interface SharedProperties {
  readonly connectorType: string;
  readonly connectorID: string;
  readonly lowerConnectorName: string;
  readonly connectorNameOrder: string;
  readonly state: string;
  readonly phase: string;
  readonly valid: string;
  readonly isAdmin: string;
  readonly isDisabled: string;
  /** Groups from the issuer or directory, in lower case. */
  readonly lowerGroups: readonly string[];
}

const texts = new AlikeTexts();

const sharedTraits = new SharedValues<SharedProperties>(8 * 1024 * 1024);

function seconds(value = ''): number | undefined {
  const milliseconds = Date.parse(value);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

const asciiOnly = /^[\0-\x7f]*$/;

/**
 * Returns a sort key. Its code unit order matches the order that readers expect of names: upper and lower case, and letters with and
 * without accents, sort together. Computed once per change, because a collator would apply its rules at every comparison.
 */
function foldForOrder(value: string): string {
  const lower = value.toLowerCase();
  return asciiOnly.test(lower) ? lower : lower.normalize('NFKD').replace(/\p{M}+/gu, '');
}

function traitsOf(spec: UserSpec, status: UserStatus): SharedProperties {
  const connectorName = spec.connector_name ?? '';
  const traits: SharedProperties = {
    connectorType: spec.connector_type ?? '',
    connectorID: spec.connector_id ?? '',
    lowerConnectorName: folded(connectorName),
    connectorNameOrder: foldForOrder(connectorName),
    state: spec.state || 'active',
    phase: status.phase ?? '',
    valid: String(spec.valid ?? true),
    isAdmin: String(spec.is_admin ?? false),
    isDisabled: String(spec.is_disabled ?? false),
    lowerGroups: (status.groups ?? []).map((group) => folded(group)),
  };
  return sharedTraits.of(JSON.stringify(traits), traits);
}

/** Members that no answer may contain, even if they were written past the schema. */
const secretMembers = new Set(['password', 'old_password', 'hash']);

/** Returns the JSON text of a User as it is served: all stored members, valid or not, except managed fields and secret members. */
export function servedText(object: KubernetesObject): string {
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

/**
 * Cached part of a User: the properties for selecting, filtering and sorting, and the JSON text that is served, so that an answer needs no
 * encoding. Missing members have the default of the custom resource definition, or are ''.
 *
 * A cluster may have 100,000 of them. The row is flat, stores equal texts of a user once, and stores only the part of the JSON text that
 * differs from those of other users.
 */
export class UserRow {
  readonly name: string;
  readonly resourceVersion: string;
  /** User name that Kubernetes sees; '' before the first login. */
  readonly subjectName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly email: string;
  readonly username: string;
  readonly traits: SharedProperties;
  readonly lowerEmail: string;
  readonly lowerUsername: string;
  readonly lowerAccount: string;
  readonly lowerMail: string;
  readonly lowerMobile: string;
  /** Sort key of `foldForOrder`. */
  readonly usernameOrder: string;
  /** Unix time. */
  readonly creationSeconds: number | undefined;
  readonly lastLoginSeconds: number | undefined;
  /** Properties of the record that login needs. */
  readonly account: Account;
  readonly #text: KeptText;

  /** Called once per change of a User. */
  constructor(object: KubernetesObject) {
    const { metadata } = object;
    const read = readUser(object);
    const { spec = {}, status = {} } = read;
    const once = deduplicator();
    const lower = (value = '') => once(folded(value));
    this.account = accountOfRead(object, read);
    this.name = once(metadata.name);
    this.resourceVersion = metadata.resourceVersion;
    this.email = once(this.account.email);
    this.username = once(this.account.username);
    this.subjectName = once(this.account.subjectName);
    this.labels = labelsOf(metadata.labels, once);
    this.traits = traitsOf(spec, status);
    this.lowerEmail = lower(spec.email);
    this.lowerUsername = lower(spec.username);
    this.lowerAccount = lower(spec.account);
    this.lowerMail = lower(spec.mail);
    this.lowerMobile = lower(spec.mobile);
    this.usernameOrder = once(foldForOrder(this.account.username));
    this.creationSeconds = seconds(metadata.creationTimestamp);
    this.lastLoginSeconds = seconds(status.lastLoginTime);
    this.#text = texts.keep(servedText(object));
  }

  get uid(): string {
    return this.account.uid;
  }

  get text(): string {
    return this.#text.toString();
  }
}

/** Returns the object of the row without its managed fields. */
export function storedObject(row: UserRow | undefined): KubernetesObject | undefined {
  const object: unknown = row && JSON.parse(row.text);
  return isKubernetesObject(object) ? object : undefined;
}

/** Returns a function that replaces equal texts by one instance. */
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
