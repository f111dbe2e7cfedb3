import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { Passwords } from '../../../src/accounts/passwords.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import type { Attack, Touched } from './attack.ts';
import { bearerHeaders, type Credential, openAtIssuer, openLocal } from './hand.ts';
import { administrators, attacker, attackersPassword, honest, honestPassword } from './people.ts';
import { emails, passwords } from './pools.ts';
import { probes } from './probes.ts';
import type { World } from './world.ts';

/** The attacker has, or has done, what the role does not give. */
export class Violation extends Error {
  /** Which promise is broken: what a shorter sequence has to break, too. */
  readonly kind: string;

  constructor(kind: string, detail: string) {
    super(`${kind}: ${detail}`);
    this.kind = kind;
  }
}

const info = z.object({ name: z.string(), groups: z.array(z.string()) });
const record = z.object({ metadata: z.object({ uid: z.string() }) });
const reviews = z.object({ items: z.array(z.object({ status: z.object({ allowed: z.boolean() }) })) });
const bindings = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      roleRef: z.object({ name: z.string() }),
      subjects: z.array(z.object({ kind: z.string(), name: z.string() })).default([]),
    }),
  ),
});

const openedBefore = [
  ['chief@example.com', 'local'],
  ['vic@example.com', 'local'],
  ['vic@example.com', 'cookie'],
  ['gil@example.com', 'local'],
  ['lou@example.com', 'cookie'],
  ['ord@example.com', 'local'],
  [attacker, 'local'],
] as const;

const hashes = new Passwords();
const kept = ['subjectName', 'subjects', 'groups', 'mustChangePassword', 'sessionsNotBefore', 'passwordChangedTime', 'phase'];
const users = '/apis/auth.platform.io/v1/users';
const secrets = `/api/v1/namespaces/${serviceNamespace}/secrets`;

interface Stored {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: unknown;
  status?: Record<string, unknown>;
}

/** What one of the honest people has opened before the attacker came. */
interface Opened {
  name: string;
  credential: Omit<Credential, 'isChecked'>;
  identity: { name: string; groups: string[] };
  /** Of the record that the service shows them as their own. */
  uid: string;
}

/** Knows what was there at the start, and says whether it is still so. */
export class Oracle {
  readonly #world: World;
  readonly #attack: Attack;
  readonly #allowed: ReadonlySet<string>;
  readonly #records: ReadonlyMap<string, unknown>;
  readonly #bound: ReadonlySet<string>;
  readonly #opened: readonly Opened[];
  /** Of identities whose rights were looked at since the last look at everything. */
  readonly #judged = new Set<string>();

  private constructor(
    world: World,
    attack: Attack,
    start: { allowed: ReadonlySet<string>; records: ReadonlyMap<string, unknown>; bound: ReadonlySet<string>; opened: readonly Opened[] },
  ) {
    this.#world = world;
    this.#attack = attack;
    this.#allowed = start.allowed;
    this.#records = start.records;
    this.#bound = start.bound;
    this.#opened = start.opened;
  }

  static async start(world: World, attack: Attack): Promise<Oracle> {
    const opened: Opened[] = [];
    for (const [email, storage] of openedBefore) {
      // An issuer that claims an administrator's address must not become one.
      if (!world.isEmbedded && administrators.includes(nameOf(email))) continue;
      // A service that was started a moment ago may not have read its keys yet.
      const credential = await eventually(() => open(world, email, storage), Boolean, 60_000);
      const identity = credential && (await identityOf(world, credential));
      if (credential === undefined || identity === undefined) throw new Error(`${email} cannot log in (${world.variant})`);
      if (email === attacker) attack.hand.add(credential);
      else opened.push({ name: nameOf(email), credential, identity, uid: (await ownRecord(world, credential)) ?? '' });
    }
    const records = new Map<string, unknown>();
    for (const { email } of honest) records.set(nameOf(email), await snapshot(world, nameOf(email)));
    return new Oracle(world, attack, {
      allowed: await allowedTo(world, bearerHeaders(world.token)),
      records,
      bound: await boundNow(world),
      opened,
    });
  }

  /** What each step may have changed. @throws Violation */
  async look(): Promise<void> {
    for (const credential of this.#attack.hand.credentials) if (!credential.isChecked) await this.#judge(credential);
  }

  /** @throws Violation */
  async lookAtEverything(): Promise<void> {
    this.#judged.clear();
    await this.#lookAtBindings();
    await this.#judgeAttacker();
    for (const credential of this.#attack.hand.credentials) await this.#judge(credential);
    for (const name of this.#records.keys()) await this.#lookAtRecord(name);
    for (const one of this.#opened) await this.#lookAtOpened(one);
    await this.#tryPasswords();
  }

  async #judgeAttacker(): Promise<void> {
    await this.#requireNoMore(await allowedTo(this.#world, bearerHeaders(this.#world.token)), 'the token of the attacker');
  }

  async #judge(credential: Credential): Promise<void> {
    credential.isChecked = true;
    const identity = await identityOf(this.#world, credential);
    if (identity === undefined) return;
    const who = `the ${credential.kind} that was opened as ${credential.of} is ${identity.name} [${identity.groups.join(' ')}]`;
    await this.#requireOwnRecord(credential, who);
    const key = `${credential.kind} ${identity.name} ${identity.groups.join(' ')}`;
    if (this.#judged.has(key)) return;
    this.#judged.add(key);
    await this.#requireNoMore(await allowedTo(this.#world, credential.headers), who);
    await this.#requireNoMore(await allowedAs(this.#world, identity), who);
  }

  #requireNoMore(allowed: ReadonlySet<string>, who: string): void {
    const more = [...allowed].filter((probe) => !this.#allowed.has(probe));
    if (more.length > 0) throw new Violation('more rights', `${who} and may ${more.join(', ')}`);
  }

  /** The record that the service takes for the caller's own. */
  async #requireOwnRecord({ headers }: Credential, who: string): Promise<void> {
    const uid = await ownRecord(this.#world, { headers });
    const found = uid === undefined ? undefined : this.#world.isUntouchable(uid);
    if (found !== undefined) throw new Violation('another person’s record', `${who}, and has the record of ${found}`);
  }

  /** Those who have a password that the attacker knows. */
  async #tryPasswords(): Promise<void> {
    if (!this.#world.isEmbedded) return;
    for (const email of emails) {
      const { status, body } = await this.#world.admin.call('GET', `${secrets}/user-password-${nameOf(email)}`);
      if (status !== 200) continue;
      const hash = Buffer.from((body as { data: { hash: string } }).data.hash, 'base64').toString();
      for (const password of passwords) {
        if ((await hashes.verify(password, hash)) === 'mismatch') continue;
        const credential = await openLocal(this.#world, { email, password, storage: 'local' });
        if (credential) await this.#judge({ ...credential, isChecked: false });
      }
    }
  }

  async #lookAtBindings(): Promise<void> {
    const more = [...(await boundNow(this.#world))].filter((pair) => !this.#bound.has(pair));
    if (more.length > 0) throw new Violation('a new binding', more.join(', '));
  }

  async #lookAtRecord(name: string): Promise<void> {
    if (this.#attack.touched.records.has(name)) return;
    const { hasSessions } = this.#attack.touched;
    const now = withoutEnds(await snapshot(this.#world, name), hasSessions);
    const then = withoutEnds(this.#records.get(name), hasSessions);
    if (isDeepStrictEqual(now, then)) return;
    const kind = administrators.includes(name) ? 'an administrator was changed' : 'an untouched user was changed';
    throw new Violation(kind, `${name}: ${differences(now, then)}`);
  }

  async #lookAtOpened({ name, credential, identity, uid }: Opened): Promise<void> {
    const { touched } = this.#attack;
    if (touched.records.has(name) || touched.hasSessions) return;
    const now = await identityOf(this.#world, credential);
    if (now === undefined) throw new Violation('an honest login was ended', `the ${credential.kind} of ${identity.name}`);
    const own = await ownRecord(this.#world, credential);
    if (own !== uid) throw new Violation('an honest login was changed', `${identity.name} has the record ${own}, had ${uid}`);
    if (!isSame(now, identity, touched))
      throw new Violation('an honest login was changed', `${JSON.stringify(identity)}, is ${JSON.stringify(now)}`);
  }
}

const isSame = (now: Opened['identity'], then: Opened['identity'], { hasGroups }: Touched): boolean =>
  now.name === then.name && (hasGroups || isDeepStrictEqual(now.groups, then.groups));

function open(world: World, email: string, storage: 'local' | 'cookie') {
  const password = email === attacker ? attackersPassword : honestPassword;
  if (world.isEmbedded) return openLocal(world, { email, password, storage });
  const groups = honest.find((one) => one.email === email)?.groups ?? [];
  return openAtIssuer(world, { claims: { sub: `${email}-sub`, email, email_verified: true, groups }, storage });
}

/** @returns the uid of the record that the service takes for the caller's own */
async function ownRecord(world: World, { headers }: Pick<Credential, 'headers'>): Promise<string | undefined> {
  const { status, body } = await world.call({ to: 'service', method: 'GET', path: '/auth/v1/me', headers });
  return status === 200 ? record.parse(body).metadata.uid : undefined;
}

async function identityOf(world: World, { headers }: Pick<Credential, 'headers'>): Promise<Opened['identity'] | undefined> {
  const { status, body } = await world.call({ to: 'service', method: 'GET', path: '/api/v2/token/info', headers });
  return status === 200 ? info.parse(body) : undefined;
}

/** As the service asks it, for whoever sends that. */
async function allowedTo(world: World, headers: Record<string, string>): Promise<Set<string>> {
  const body = { kind: 'SelfSubjectAccessReviewList', items: probes.map(({ question }) => ({ spec: { resourceAttributes: question } })) };
  const answer = await world.call({ to: 'service', method: 'POST', path: '/auth/v1/selfsubjectaccessreviews', body, headers });
  if (answer.status !== 201) return new Set();
  const { items } = reviews.parse(answer.body);
  return new Set(probes.filter((_probe, index) => items[index]?.status.allowed).map(({ what }) => what));
}

/** As the API server says of that name and these groups. */
async function allowedAs({ admin }: World, { name, groups }: Opened['identity']): Promise<Set<string>> {
  const allowed = new Set<string>();
  for (const { what, question } of probes) {
    const spec = { user: name, groups: [...groups, 'system:authenticated'], resourceAttributes: question };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const { body } = await admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    if ((body as { status: { allowed: boolean } }).status.allowed) allowed.add(what);
  }
  return allowed;
}

/** Every role with each that it is bound to. */
async function boundNow({ admin }: World): Promise<Set<string>> {
  const pairs = new Set<string>();
  for (const resource of ['clusterrolebindings', 'rolebindings']) {
    const { body } = await admin.call('GET', `/apis/rbac.authorization.k8s.io/v1/${resource}`);
    for (const { roleRef, subjects } of bindings.parse(body).items)
      for (const { kind, name } of subjects) pairs.add(`${resource} ${roleRef.name} to ${kind} ${name}`);
  }
  return pairs;
}

/** Who may delete sessions may end all of a user, and what was opened before. */
function withoutEnds(found: unknown, isEndable: boolean): unknown {
  if (!isEndable || typeof found !== 'object' || found === null || !('status' in found)) return found;
  return { ...found, status: { ...(found.status as object), sessionsNotBefore: undefined } };
}

function differences(now: unknown, then: unknown): string {
  if (typeof now !== 'object' || typeof then !== 'object') return `${JSON.stringify(now)}, was ${JSON.stringify(then)}`;
  const before = Object.entries(then ?? {}).filter(
    ([key, value]) => !isDeepStrictEqual(value, Object.entries(now ?? {}).find(([other]) => other === key)?.[1]),
  );
  return `${before.map(([key, value]) => `${key} was ${JSON.stringify(value)}`).join(', ')}, and is ${JSON.stringify(now)}`;
}

async function snapshot({ admin }: World, name: string): Promise<unknown> {
  const { status, body } = await admin.call('GET', `${users}/${name}`);
  if (status !== 200) return status;
  const { metadata, spec, status: said = {} } = body as Stored;
  const secret = await admin.call('GET', `${secrets}/user-password-${name}`);
  return {
    uid: metadata.uid,
    isTerminating: metadata.deletionTimestamp !== undefined,
    spec,
    status: Object.fromEntries(kept.map((key) => [key, said[key]])),
    password: secret.status === 200 ? (secret.body as { data: unknown }).data : undefined,
  };
}
