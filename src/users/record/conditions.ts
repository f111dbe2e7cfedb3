import { type Condition, type Observed, setConditions } from '../../kubernetes/object-status.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import type { Account } from './account.ts';
import { recordName } from './name.ts';
import type { AccountPhase } from './phase.ts';
import type { readUser } from './schema.ts';

/** User at a given moment. */
interface Seen {
  object: KubernetesObject;
  /** Parsed object. */
  user: ReturnType<typeof readUser>;
  account: Account;
  phase: AccountPhase;
}

/** Returns `status.conditions` of a user. */
export function conditionsOf({ object, user: { status = {} }, account, phase: { phase, reason } }: Seen, now: Date): Condition[] {
  const condition = (type: string, isSo: boolean, whyNot: string, message = ''): Observed =>
    isSo ? { type, status: 'True', reason: 'AsExpected', message: '' } : { type, status: 'False', reason: whyNot, message };
  const observed = [
    condition('Ready', phase === 'Normal', reason || 'Unknown'),
    condition('Enabled', phase !== 'Disabled', reason || 'Disabled'),
    condition('Unlocked', phase !== 'Locked', 'TooManyFailedLogins'),
    condition('SourceFound', account.isValid, 'GoneFromSource'),
    ...(account.connectorType === 'local'
      ? [
          condition(
            'PasswordSet',
            status.passwordChangedTime !== undefined,
            'NoPassword',
            'an administrator sets it with a PATCH of the user',
          ),
        ]
      : []),
    condition(
      'Canonical',
      account.isCanonical,
      'NotCanonical',
      `the record of this email is called ${recordName(account.email) ?? 'otherwise'}`,
    ),
  ];
  return setConditions(object.status, observed, now);
}
