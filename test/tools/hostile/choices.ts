import { nameOf } from '../../service/users/a-user.ts';
import { Chance } from './chance.ts';
import { attacker } from './people.ts';
import { bySub, emails, passwords, unbound } from './pools.ts';
import type { As } from './steps.ts';
import type { Variant } from './world.ts';

export const group = '/apis/auth.platform.io/v1';

/** Picks the target and the caller of a step at random. */
export class Choices extends Chance {
  readonly variant: Variant;
  readonly isEmbedded: boolean;
  /** True if the sequence deletes whole selections. No guarantee applies to the selected users afterwards. */
  readonly isBroad: boolean;
  /** Addresses that most steps are about, so that several steps meet on one record. */
  readonly #focus: readonly string[];

  constructor(seed: number, variant: Variant) {
    super(seed);
    this.variant = variant;
    this.isBroad = this.isOnce(0.25);
    this.isEmbedded = variant.startsWith('embedded');
    this.#focus = [this.oneOf(emails), this.oneOf(emails), this.oneOf(unbound)];
  }

  knownPassword = () => (this.isOnce(0.75) ? passwords[0] : passwords[1]) ?? '';
  storage = () => this.oneOf(['local', 'cookie'] as const);
  as = (): As => (this.isOnce(0.7) ? 'token' : this.oneOf([attacker, ...bySub, ...this.#focus]));
  target = () => (this.isOnce(0.7) ? this.oneOf(this.#focus) : this.oneOf(emails));
  record = () => `${group}/users/${this.name()}`;
  dry = (chance: number) => (this.isOnce(chance) ? '?dryRun=All' : '');
  someNames = () => [...new Set(Array.from({ length: 1 + Math.floor(this.number() * 3) }, () => this.name()))];

  /** Returns a record name, mostly the one that the naming rule gives to the target's address. */
  name = () => (this.isOnce(0.9) ? nameOf(this.target()) : this.oneOf(['stray', 'nova', attacker, 'vic@example.com']));

  /** Returns an address, sometimes in another case. */
  email = () => (this.isOnce(0.85) ? this.target() : this.inOtherCase(this.target()));

  inOtherCase = (email: string) => (this.isOnce(0.5) ? email.toUpperCase() : `${email.charAt(0).toUpperCase()}${email.slice(1)}`);
}
