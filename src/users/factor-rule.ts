import { kindsOf } from '../config/factor-kinds.ts';
import { embeddedLoginOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Account } from './record/account.ts';
import type { LocalGroupLookup } from './record/local-groups.ts';

export type FactorRule = Config['login']['factors']['default'];

const byStrictness: readonly FactorRule[] = ['required', 'optional', 'off'];

/** Returns the strictest rule that applies to the user's groups, by their names in tokens, or the default if none applies. */
export function ruleOf(
  { groups, name }: Pick<Account, 'groups' | 'name'>,
  localGroups: Pick<LocalGroupLookup, 'of'>,
  config: Config,
): FactorRule {
  const { factors } = config.login;
  const { groupsPrefix } = embeddedLoginOf(config).claims;
  const held = new Set([...groups.map((group) => groupsPrefix + group), ...localGroups.of(name)]);
  const fitting = factors.rules.filter(({ group }) => held.has(group)).map((rule) => rule.factors);
  return byStrictness.find((rule) => fitting.includes(rule)) ?? factors.default;
}

/** Returns a function that reports whether a user can set up a second factor. */
export const mayEnrolBy =
  (config: Config, localGroups: LocalGroupLookup) =>
  (account: Account): boolean =>
    kindsOf(config).length > 0 && ruleOf(account, localGroups, config) !== 'off';
