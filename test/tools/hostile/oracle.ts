import { nameOf } from '../../service/users/a-user.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import type { Attack } from './attack.ts';
import { bearerHeaders, type Credential, openLocal } from './hand.ts';
import { HonestUsers, openAs, requireEnded } from './honest-users.ts';
import { attacker } from './people.ts';
import { grantable, lentRoles, phantom } from './policies.ts';
import { emails, passwords } from './pools.ts';
import { markerProbe } from './probes.ts';
import { allowedAs, allowedTo, boundNow, identityOf, ownRecord, uidsNow } from './questions.ts';
import type { Step } from './steps.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const hashes = cheapPasswords();
const secrets = `/api/v1/namespaces/${serviceNamespace}/secrets`;
/** Number of the attacker's newest credentials that are checked again at each `look`. */
const lastOpened = 12;

/** Records rights and bindings at the start, and reports violations after each step. */
export class Oracle {
  readonly #world: World;
  readonly #attack: Attack;
  readonly #honest: HonestUsers;
  readonly #allowed: ReadonlySet<string>;
  readonly #bound: ReadonlySet<string>;
  /** Keys of identities whose rights were checked since the last full check. */
  readonly #judged = new Set<string>();

  private constructor(
    world: World,
    attack: Attack,
    start: { honest: HonestUsers; allowed: ReadonlySet<string>; bound: ReadonlySet<string> },
  ) {
    this.#world = world;
    this.#attack = attack;
    this.#honest = start.honest;
    this.#allowed = start.allowed;
    this.#bound = start.bound;
  }

  static async start(world: World, attack: Attack): Promise<Oracle> {
    const honest = new HonestUsers(world, attack);
    await honest.begin();
    attack.hand.add(await openAs(world, attacker, 'local'));
    const allowed = await allowedTo(world, bearerHeaders(world.token));
    allowed.add(markerProbe(grantable));
    return new Oracle(world, attack, { honest, allowed, bound: await boundNow(world) });
  }

  /** Checks the state that a step may have changed. @throws Violation */
  async look(after: Step): Promise<void> {
    const { credentials } = this.#attack.hand;
    if (after.do === 'look') {
      await this.#honest.look();
      await this.#requireEnded(credentials.slice(-lastOpened));
    }
    if (after.do === 'restore') {
      await this.#honest.restored(after.email);
      await this.#requireEnded(credentials.filter(({ of }) => of === after.email).slice(-lastOpened));
    }
    for (const credential of credentials) if (!credential.isChecked) await this.#judge(credential);
  }

  /** @throws Violation */
  async lookAtEverything(): Promise<void> {
    this.#judged.clear();
    await this.#lookAtBindings();
    await this.#judgeAttacker();
    await this.#requireEnded(this.#attack.hand.credentials);
    for (const credential of this.#attack.hand.credentials) await this.#judge(credential);
    await this.#honest.look();
    await this.#tryPasswords();
  }

  /** Requires that credentials of deleted records are invalid. */
  async #requireEnded(credentials: readonly Credential[]): Promise<void> {
    const uids = await uidsNow(this.#world);
    for (const credential of credentials)
      if (credential.uid !== undefined && !uids.has(credential.uid))
        await requireEnded(this.#world, credential, `${credential.of} with the record ${credential.uid}`);
  }

  async #judgeAttacker(): Promise<void> {
    await this.#requireNoMore(await allowedTo(this.#world, bearerHeaders(this.#world.token)), 'the token of the attacker');
  }

  async #judge(credential: Credential): Promise<void> {
    credential.isChecked = true;
    const identity = await identityOf(this.#world, credential);
    if (identity === undefined) return;
    const who = `the ${credential.kind} that was opened as ${credential.of} is ${identity.name} [${identity.groups.join(' ')}]`;
    if (identity.name === phantom) throw new Violation('a user whom a policy names', who);
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

  /** Requires that the caller's own record is not an honest user's, and stays the same for a credential. */
  async #requireOwnRecord(credential: Credential, who: string): Promise<void> {
    const uid = await ownRecord(this.#world, credential);
    const found = uid === undefined ? undefined : this.#world.isUntouchable(uid);
    if (found !== undefined) throw new Violation('another person’s record', `${who}, and has the record of ${found}`);
    // A token of an external issuer belongs to no record.
    if (credential.kind === 'bearer' && !this.#world.isEmbedded) return;
    credential.uid ??= uid;
    if (uid !== undefined && uid !== credential.uid)
      throw new Violation('a login became another record’s', `${who}, with the record ${uid}, had ${credential.uid}`);
  }

  /** Logs in as each user with the passwords that the attacker knows. */
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
    const more = [...(await boundNow(this.#world))].filter(
      (pair) => !this.#bound.has(pair) && !lentRoles.some((role) => pair.includes(` ${role} to `)),
    );
    if (more.length > 0) throw new Violation('a new binding', more.join(', '));
  }
}
