import { isDeepStrictEqual } from 'node:util';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import type { Attack } from './attack.ts';
import { bearerHeaders, type Credential, openAtIssuer, openLocal } from './hand.ts';
import { administrators, attacker, attackersPassword, honest, honestPassword } from './people.ts';
import { boundNow, type Identity, identityOf, ownRecord, tokenOf } from './questions.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const openedBefore = [
  ['chief@example.com', 'local'],
  ['deputy@example.com', 'cookie'],
  ['vic@example.com', 'local'],
  ['vic@example.com', 'cookie'],
  ['gil@example.com', 'local'],
  ['lou@example.com', 'cookie'],
  ['una@example.com', 'local'],
  ['ivy@example.com', 'cookie'],
  ['ord@example.com', 'local'],
  ['alice', 'cookie'],
] as const;

const kept = ['subjectName', 'subjects', 'groups', 'mustChangePassword', 'sessionsNotBefore', 'passwordChangedTime', 'phase'];
const users = '/apis/auth.platform.io/v1/users';
const secrets = `/api/v1/namespaces/${serviceNamespace}/secrets`;
/** Time within which a credential must become invalid; watches may lag. */
const endedWithinMs = 60_000;

interface Stored {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: unknown;
  status?: Record<string, unknown>;
}

/** Credential of an honest user. */
interface Opened {
  name: string;
  credential: Pick<Credential, 'kind' | 'headers'>;
  identity: Identity;
  /** UID of the caller's own record, as the service reports it. */
  uid: string | undefined;
}

/** Records the credentials and rights of the honest users, and checks that they stay unchanged. */
export class HonestUsers {
  readonly #world: World;
  readonly #attack: Attack;
  readonly #records = new Map<string, unknown>();
  #opened: Opened[] = [];
  #bound: ReadonlySet<string> = new Set();

  constructor(world: World, attack: Attack) {
    this.#world = world;
    this.#attack = attack;
  }

  /** Logs in the honest users and records their state, before the attack. */
  async begin(): Promise<void> {
    for (const { email } of honest) {
      await this.#open(email);
      this.#records.set(nameOf(email), await snapshot(this.#world, nameOf(email)));
    }
    this.#bound = await boundNow(this.#world);
  }

  /** @throws Violation */
  async look(): Promise<void> {
    await this.#lookAtBindings();
    for (const name of this.#records.keys()) await this.#lookAtRecord(name);
    for (const one of this.#opened) await this.#lookAtOpened(one);
  }

  /** Requires that credentials of the previous record are invalid. All guarantees apply to the restored one. @throws Violation */
  async restored(email: string): Promise<void> {
    const name = nameOf(email);
    const { touched } = this.#attack;
    for (const { credential, identity, uid } of this.#opened.filter((one) => one.name === name && one.uid !== undefined))
      if (credential.kind !== 'kubectl’s token') await requireEnded(this.#world, credential, `${identity.name} with the record ${uid}`);
    this.#opened = this.#opened.filter((one) => one.name !== name);
    // Bindings of the previous record name its UID.
    this.#bound = new Set([...this.#bound].filter((pair) => !pair.includes(markOf(email))));
    await eventually(
      async () => (await read(this.#world, name))?.status?.phase,
      (phase) => phase === 'Normal',
      endedWithinMs,
    );
    // The revocation of the previous record's sessions also covers logins of the same second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    // The embedded issuer dates its tokens by the clock of the machine, which no step advances.
    await this.#open(email, 'cookie');
    this.#records.set(name, await snapshot(this.#world, name));
    touched.records.delete(name);
    touched.removed.delete(name);
  }

  async #open(email: string, kept?: 'cookie'): Promise<void> {
    const name = nameOf(email);
    const add = async (credential: Opened['credential']) => {
      const identity = await identityOf(this.#world, credential);
      if (identity === undefined) throw new Error(`the ${credential.kind} of ${email} does not count (${this.#world.variant})`);
      this.#opened.push({ name, credential, identity, uid: await ownRecord(this.#world, credential) });
    };
    if (email === 'alice') await add({ kind: 'kubectl’s token', headers: bearerHeaders(this.#world.tokenOfAlice) });
    // An issuer that claims an administrator's address must not make its user an administrator.
    if (!this.#world.isEmbedded && (administrators.includes(name) || !email.includes('@'))) return;
    for (const [, storage] of openedBefore.filter(([who]) => who === email)) {
      const credential = await openAs(this.#world, email, kept ?? storage);
      await add(credential);
      await add({ kind: 'access token', headers: bearerHeaders(await tokenOf(this.#world, credential)) });
    }
  }

  async #lookAtBindings(): Promise<void> {
    const { touched } = this.#attack;
    const now = await boundNow(this.#world);
    const isTouched = ({ email }: { email: string }) => touched.records.has(nameOf(email));
    const marks = honest.filter((one) => !isTouched(one)).map(({ email }) => markOf(email));
    const lost = [...this.#bound].filter((pair) => !now.has(pair) && marks.some((mark) => pair.includes(mark)));
    if (!touched.hasGroups && lost.length > 0) throw new Violation('a lost binding', lost.join(', '));
  }

  async #lookAtRecord(name: string): Promise<void> {
    const { records, removed, hasSessions } = this.#attack.touched;
    if (removed.has(name)) return;
    const now = withoutEnds(await snapshot(this.#world, name), hasSessions);
    const then = withoutEnds(this.#records.get(name), hasSessions);
    if (isDeepStrictEqual(now, then)) return;
    if (!records.has(name)) {
      const kind = administrators.includes(name) ? 'an administrator was changed' : 'an untouched user was changed';
      throw new Violation(kind, `${name}: ${differences(now, then)}`);
    }
    if (!isThere(now, then)) throw new Violation('a user who was not deleted is gone', `${name}: ${JSON.stringify(now)}`);
  }

  async #lookAtOpened({ name, credential, identity, uid }: Opened): Promise<void> {
    const { touched } = this.#attack;
    if (touched.records.has(name) || touched.hasSessions) return;
    const now = await identityOf(this.#world, credential);
    if (now === undefined) throw new Violation('an honest login was ended', `the ${credential.kind} of ${identity.name}`);
    const own = await ownRecord(this.#world, credential);
    if (own !== uid) throw new Violation('an honest login was changed', `${identity.name} has the record ${own}, had ${uid}`);
    const isSame = now.name === identity.name && (touched.hasGroups || isDeepStrictEqual(now.groups, identity.groups));
    if (!isSame) throw new Violation('an honest login was changed', `${JSON.stringify(identity)}, is ${JSON.stringify(now)}`);
  }
}

/** Requires that a credential of a deleted record becomes invalid. @throws Violation */
export async function requireEnded(world: World, credential: Pick<Credential, 'kind' | 'headers'>, of: string): Promise<void> {
  const deadline = Date.now() + endedWithinMs;
  for (;;) {
    const identity = await identityOf(world, credential);
    if (identity === undefined) return;
    if (Date.now() > deadline)
      throw new Violation('a login outlived its record', `the ${credential.kind} of ${of} is still ${identity.name}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Logs in, and retries because a service that has just started may not have read its keys yet. */
export async function openAs(world: World, email: string, storage: 'local' | 'cookie') {
  const credential = await eventually(() => open(world, email, storage), Boolean);
  if (credential === undefined) throw new Error(`${email} cannot log in (${world.variant})`);
  return credential;
}

function open(world: World, email: string, storage: 'local' | 'cookie') {
  const password = email === attacker ? attackersPassword : honestPassword;
  if (world.isEmbedded) return openLocal(world, { email, password, storage });
  const groups = honest.find((one) => one.email === email)?.groups ?? [];
  return openAtIssuer(world, { claims: { sub: `${email}-sub`, email, email_verified: true, groups }, storage });
}

const markOf = (email: string) => `marker-${email.split('@')[0]} `;

const isThere = (now: unknown, then: unknown): boolean => {
  const [one, other] = [now, then] as { uid?: string; isTerminating?: boolean }[];
  return one?.uid === other?.uid && one?.isTerminating === other?.isTerminating;
};

/** Removes `sessionsNotBefore`, which a caller changes who may delete the sessions of a user. */
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

async function read({ admin }: World, name: string): Promise<Stored | undefined> {
  const { status, body } = await admin.call('GET', `${users}/${name}`);
  return status === 200 ? (body as Stored) : undefined;
}

async function snapshot(world: World, name: string): Promise<unknown> {
  const found = await read(world, name);
  if (found === undefined) return 'gone';
  const { metadata, spec, status: said = {} } = found;
  const secret = await world.admin.call('GET', `${secrets}/user-password-${name}`);
  return {
    uid: metadata.uid,
    isTerminating: metadata.deletionTimestamp !== undefined,
    spec,
    status: Object.fromEntries(kept.map((key) => [key, said[key]])),
    password: secret.status === 200 ? (secret.body as { data: unknown }).data : undefined,
  };
}
