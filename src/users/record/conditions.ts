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

type Reason = Exclude<AccountPhase['reason'], ''>;

/** Texts of the causes that keep a user from being Ready. */
const messageOf: Record<Reason, (account: Account) => string> = {
  GoneFromSource: () => 'the directory has the user no more',
  NotCanonical: ({ email }) =>
    `metadata.name must be ${recordName(email) ?? 'another one'}, made from spec.email. Print the right User: kubectl atrium users create ${email} --dry-run -o yaml`,
  Terminating: () => 'the record is being deleted',
  ByHand: () => 'spec.is_disabled is true, or spec.state is inactive',
  NotYetValid: () => 'spec.expired.begin lies ahead',
  Expired: () => 'spec.expired.end has passed',
  Idle: () => 'the last login is longer ago than users.idleDays allows',
  TooManyFailedLogins: () => 'too many logins have failed: status.lockedUntil tells the end of the lock',
};

/** Returns `status.conditions` of a user. Ready repeats the cause that decides the phase. */
export function conditionsOf({ object, user: { status = {} }, account, phase: { phase, reason } }: Seen, now: Date): Condition[] {
  const generation = object.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const condition = (type: string, isSo: boolean, whyNot: Reason | '' | 'NoPassword', message = ''): Observed =>
    isSo
      ? { type, status: 'True', reason: 'AsExpected', message: '', ...observed }
      : { type, status: 'False', reason: whyNot || 'Unknown', message, ...observed };
  const text = (cause: AccountPhase['reason']) => (cause === '' ? '' : messageOf[cause](account));
  const conditions = [
    condition('Ready', phase === 'Normal', reason, text(reason)),
    condition('Enabled', phase !== 'Disabled', reason, text(reason)),
    condition('Unlocked', phase !== 'Locked', 'TooManyFailedLogins', text('TooManyFailedLogins')),
    condition('SourceFound', account.isValid, 'GoneFromSource', text('GoneFromSource')),
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
    condition('Canonical', account.isCanonical, 'NotCanonical', text('NotCanonical')),
  ];
  return setConditions(object.status, conditions, now);
}
