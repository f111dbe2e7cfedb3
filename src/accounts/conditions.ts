import type { KubernetesObject } from '../kubernetes/resource.ts';
import { isRecord } from '../kubernetes/resource.ts';
import type { Account } from './account.ts';
import type { AccountPhase } from './phase.ts';
import { recordName } from './record-name.ts';
import { timestamp } from './timestamp.ts';

/** @see https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#condition-v1-meta */
interface Condition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastTransitionTime: string;
}

/** What is observed of a user, as `status.conditions` tells it; a condition that stays keeps the time since when it is so. */
export function conditionsOf(object: KubernetesObject, account: Account, { phase, reason }: AccountPhase, now: Date): Condition[] {
  const status = isRecord(object.status) ? object.status : {};
  const old = Array.isArray(status.conditions) ? status.conditions.filter(isRecord) : [];
  const condition = (type: string, isSo: boolean, whyNot: string, message = ''): Condition => {
    const told = { type, status: isSo ? 'True' : 'False', reason: isSo ? 'AsExpected' : whyNot, message: isSo ? '' : message } as const;
    const before = old.find((other) => other.type === type);
    const since =
      before?.status === told.status && typeof before.lastTransitionTime === 'string' ? before.lastTransitionTime : timestamp(now);
    return { ...told, lastTransitionTime: since };
  };
  return [
    condition('Ready', phase === 'Normal', reason || 'Unknown'),
    condition('Enabled', phase !== 'Disabled', reason || 'Disabled'),
    condition('Unlocked', phase !== 'Locked', 'TooManyFailedLogins'),
    condition('SourceFound', account.isValid, 'GoneFromSource'),
    ...(account.connectorType === 'local'
      ? [
          condition(
            'PasswordSet',
            typeof status.passwordChangedTime === 'string',
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
}
