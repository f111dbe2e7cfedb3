import { secretName } from './passwords/secret.ts';
import { type AccountLookup, requireAccounts } from './record/lookup.ts';
import { subjectNamesOf } from './record/subject-name.ts';

/**
 * Returns what events of a user have, undefined if the record does not exist.
 *
 * @param namespace `kubernetes.namespace`
 * @throws StatusError 503 while the records are unknown
 */
export function tracesOf(accounts: Pick<AccountLookup, 'get' | 'watch'>, record: string, namespace: string) {
  requireAccounts(accounts);
  const account = accounts.get(record);
  if (account === undefined) return undefined;
  const names = subjectNamesOf(account);
  return {
    // Bindings name the address of a user who has not logged in yet.
    names: names.length > 0 ? names : [account.email],
    secret: { namespace, name: secretName(record) },
    since: account.created * 1000,
  };
}
