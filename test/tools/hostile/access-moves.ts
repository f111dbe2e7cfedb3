/** Moves against policies and requests of access: written by kubectl and by the API, asked, decided and ended. */

import { nameOf } from '../../service/users/a-user.ts';
import { type Choices, group } from './choices.ts';
import { attacker } from './people.ts';
import { grantable, phantom, policyNames, policyRoles, unreachable } from './policies.ts';
import { mergePatch, withoutRights } from './pools.ts';
import type { Step } from './steps.ts';

const requests = `${group}/accessrequests`;
const bindings = `${group}/userbindings`;
/** Placeholders for requests: one of the newest. */
const newest = [0, 0, 0, 1, 2, 5];

const phases = ['Pending', 'Approving', 'Scheduled', 'Active', 'Ended', 'Denied'];

export const accessMove = (by: Choices): Step[] =>
  by.weighted([
    [4, () => askAndDecide(by)],
    [4, () => granted(by)],
    [3, () => [writePolicy(by)]],
    [2, () => [changePolicy(by)]],
    [2, () => [ask(by)]],
    [2, () => [decide(by)]],
    [2, () => [writeRequest(by)]],
    [2, () => [writeBinding(by)]],
    [1, () => takeApprover(by)],
  ]);

const request = (by: Choices) => `$areq(${by.oneOf(newest)})`;
const subjects = (by: Choices) => [
  { kind: 'User', name: by.oneOf([attacker, `$subject(${attacker})`, `$subject(${by.target()})`, phantom]) },
  ...(by.isOnce(0.2) ? [{ kind: 'Group', name: by.oneOf(['local:team', 'dev', 'system:authenticated', 'system:masters']) }] : []),
];

function policySpec(by: Choices): Record<string, unknown> {
  const isFree = by.isOnce(0.3);
  const hasBreakGlass = by.isOnce(0.2);
  return {
    subjects: subjects(by),
    roleRefs: by.isOnce(0.6) ? [grantable] : [by.oneOf(policyRoles), ...(by.isOnce(0.3) ? [by.oneOf(policyRoles)] : [])],
    scope: by.isOnce(0.7) ? { cluster: true } : { namespaces: { names: ['default', 'atrium-system'] } },
    maxSeconds: by.oneOf([300, 3_600, 1_209_600]),
    approvals: isFree ? 0 : by.oneOf([1, 2]),
    approvers: subjects(by),
    ...((isFree || hasBreakGlass) && { requireStepUp: by.isOnce(0.8) }),
    ...(hasBreakGlass && { breakGlass: true }),
  };
}

function writePolicy(by: Choices): Step {
  const name = by.oneOf(policyNames);
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'AccessPolicy', metadata: { name }, spec: policySpec(by) };
  const path = `${group}/accesspolicies`;
  return by.isOnce(0.7)
    ? { do: 'kubectl', method: 'POST', path: `${path}${by.dry(0.05)}`, body }
    : {
        do: 'kubectl',
        method: 'PATCH',
        path: `${path}/${name}?fieldManager=hostile&force=true`,
        type: 'application/apply-patch+yaml',
        body,
      };
}

function changePolicy(by: Choices): Step {
  const path = `${group}/accesspolicies/${by.oneOf(policyNames)}`;
  const all = policySpec(by);
  const some = Object.fromEntries(Object.entries(all).filter(() => by.isOnce(0.4)));
  return by.weighted<Step>([
    [4, () => ({ do: 'kubectl', method: 'PATCH', path, type: mergePatch, body: { spec: some } })],
    [2, () => ({ do: 'kubectl', method: 'DELETE', path })],
    [
      1,
      () => ({
        ...{ do: 'kubectl', method: 'PATCH', path: `${path}/status`, type: mergePatch },
        body: { status: { conditions: [], observedGeneration: 99 } },
      }),
    ],
  ]);
}

const askFor = (policy: string, roleRef: string, as: string): Step => ({
  ...{ do: 'api', as, method: 'POST', path: '/auth/v1/accessrequests' },
  body: { policy, roleRef, scope: 'platform', reason: 'something is down', durationSeconds: 300 },
});

function ask(by: Choices, policy = by.oneOf(policyNames), as = by.as()): Step {
  const isUsual = by.isOnce(0.7);
  const role = policy === 'held' ? unreachable : grantable;
  if (isUsual) return askFor(policy, role, as);
  const body = {
    policy,
    roleRef: by.oneOf(policyRoles),
    ...(by.isOnce(0.5) ? { scope: 'platform' } : { scope: 'namespace', namespaces: ['default'] }),
    reason: 'something is down',
    durationSeconds: by.oneOf([300, 3_600, 86_400]),
    ...(by.isOnce(0.3) && { breakGlass: true }),
  };
  return { do: 'api', as, method: 'POST', path: `/auth/v1/accessrequests${by.dry(0.05)}`, body };
}

function decide(by: Choices): Step {
  const path = `/auth/v1/accessrequests/${request(by)}`;
  const api = (what: string, body: unknown): Step => ({ do: 'api', as: by.as(), method: 'POST', path: `${path}/${what}`, body });
  return by.weighted<Step>([
    [6, () => api('decision', { approve: true })],
    [1, () => api('decision', { approve: false, comment: 'no' })],
    [1, () => api('end', {})],
    [1, () => api('review', { comment: 'seen' })],
  ]);
}

/** Asks by one login, and decides by others. */
function askAndDecide(by: Choices): Step[] {
  const policy = by.oneOf(policyNames);
  return [
    ...(by.isOnce(0.5) ? [writePolicy(by)] : []),
    ask(by, policy, by.isOnce(0.7) ? 'token' : by.as()),
    decide(by),
    ...(by.isOnce(0.4) ? [changePolicy(by)] : []),
    decide(by),
    ...(by.isOnce(0.2) ? [{ do: 'clock', seconds: by.oneOf([30, 301, 3_601]) } as const] : []),
  ];
}

/** Gets the role that the attacker may bind, by a policy of the attacker and a second account as its approver, and tries to keep it. */
function granted(by: Choices): Step[] {
  const email = by.oneOf(withoutRights);
  const password = by.knownPassword();
  const policy = by.oneOf(['lent', 'fresh-1', 'fresh-2']);
  const spec = {
    subjects: [{ kind: 'User', name: attacker }],
    roleRefs: [grantable],
    scope: { cluster: true },
    maxSeconds: 3_600,
    approvals: 1,
    approvers: [{ kind: 'User', name: `$subject(${email})` }],
  };
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'AccessPolicy', metadata: { name: policy }, spec };
  const after = () => by.oneOf([writeBinding, writeRequest, changePolicy, decide])(by);
  return [
    { do: 'api', as: 'token', method: 'POST', path: '/auth/v1/users', body: { spec: { email, password } } },
    { do: 'api', as: 'token', method: 'PATCH', path: `/auth/v1/users/${nameOf(email)}`, body: { spec: { password } } },
    { do: 'login', email, password, storage: by.storage() },
    { do: 'kubectl', method: 'DELETE', path: `${group}/accesspolicies/${policy}` },
    { do: 'kubectl', method: 'POST', path: `${group}/accesspolicies`, body },
    { do: 'wait', ms: 1_300 },
    askFor(policy, grantable, 'token'),
    { do: 'api', as: email, method: 'POST', path: '/auth/v1/accessrequests/$areq(0)/decision', body: { approve: true } },
    after(),
    after(),
    ...(by.isOnce(0.5) ? [{ do: 'clock', seconds: 301 } as const, after()] : []),
  ];
}

/** Asks for the role that no approver gives, so that a request is open. */
export const askForHeld: Step = askFor('held', unreachable, 'token');

/** Writes a request or its status past the service. */
function writeRequest(by: Choices): Step {
  const path = `${requests}/${request(by)}`;
  const status = {
    phase: by.oneOf(phases),
    begin: '2020-01-01T00:00:00Z',
    until: '2099-01-01T00:00:00Z',
    decisions: [{ by: 'apr@example.com', record: 'apr', approve: true, isVoid: false, time: '2020-01-01T00:00:00Z' }],
  };
  return by.weighted<Step>([
    [3, () => ({ do: 'kubectl', method: 'PATCH', path: `${path}/status`, type: mergePatch, body: { status } })],
    [2, () => ({ do: 'kubectl', method: 'PATCH', path, type: mergePatch, body: { spec: { approvals: 0, roleRef: unreachable } } })],
    [1, () => ({ do: 'kubectl', method: 'DELETE', path })],
    [
      1,
      () => ({
        ...{ do: 'kubectl', method: 'POST', path: requests },
        body: {
          apiVersion: 'auth.platform.io/v1',
          kind: 'AccessRequest',
          metadata: { name: 'areq-0123456789abcdef' },
          spec: {
            ...{ requester: attacker, record: attacker, recordUID: 'x', policy: { name: 'held', uid: 'x', generation: 1 } },
            ...{ subject: { kind: 'User', name: attacker }, roleRef: unreachable, roleUID: 'x', scope: 'platform' },
            ...{ reason: 'something is down', durationSeconds: 3_600, approvals: 0 },
          },
        },
      }),
    ],
  ]);
}

/** Writes the binding of a request. */
function writeBinding(by: Choices): Step {
  const name = `ar-$areqUID(${by.oneOf(newest)})`;
  const spec = { scope: 'platform', roleRef: by.oneOf(policyRoles), subjects: [{ kind: 'User', name: attacker }] };
  const change = by.oneOf<Record<string, unknown>>([
    { expiresAt: '2099-01-01T00:00:00Z' },
    { expiresAt: null },
    { subjects: [...spec.subjects, { kind: 'User', name: 'ord@example.com' }] },
    { roleRef: unreachable },
    { request: null },
  ]);
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', metadata: { name }, spec };
  return by.weighted<Step>([
    [4, () => ({ do: 'kubectl', method: 'PATCH', path: `${bindings}/${name}`, type: mergePatch, body: { spec: change } })],
    [
      1,
      () => ({
        do: 'kubectl',
        method: 'PATCH',
        path: `${bindings}/${name}`,
        type: mergePatch,
        body: { metadata: { ownerReferences: null } },
      }),
    ],
    [1, () => ({ do: 'kubectl', method: 'POST', path: bindings, body })],
  ]);
}

/** Tries to log in as an approver, or as a user whom a policy names and who has no record yet, and decides. */
function takeApprover(by: Choices): Step[] {
  const email = by.oneOf(['apr@example.com', 'pol@example.com', phantom]);
  const password = by.knownPassword();
  return [
    { do: 'api', as: 'token', method: 'POST', path: '/auth/v1/users', body: { spec: { email, password } } },
    { do: 'api', as: 'token', method: 'PATCH', path: `/auth/v1/users/${nameOf(email)}`, body: { spec: { password } } },
    { do: 'api', as: 'token', method: 'POST', path: `/auth/v1/users/${nameOf(email)}/links`, body: {} },
    { do: 'login', email, password, storage: by.storage() },
    { do: 'api', as: email, method: 'POST', path: `/auth/v1/accessrequests/${request(by)}/decision`, body: { approve: true } },
    ask(by, 'shell', email),
  ];
}
