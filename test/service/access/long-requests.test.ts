import { LongRequests } from '@atrium/kubernetes/rbac/long-requests.ts';
import type { BoundSubject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { forbidden, serviceUnavailable } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';

const alice = { name: 'alice', groups: ['dev', 'system:authenticated'] };
const refusal = () => forbidden({ verb: 'watch', group: '', resource: 'pods', user: 'alice' });

describe('long requests', () => {
  let lose: (...subjects: BoundSubject[]) => void;
  let longRequests: LongRequests;
  let drops: number;

  beforeEach(() => {
    drops = 0;
    longRequests = new LongRequests({
      access: { clear: () => (drops += 1) },
      rbac: { onLoss: (listener) => (lose = (...subjects) => listener(subjects)) },
      now: () => new Date(),
    });
    longRequests.start();
  });
  afterEach(() => longRequests.stop());

  /** Adds a request whose checks are counted. */
  const open = (
    answer: (checks: number) => Error | undefined,
    { users = [alice], everyMs }: { users?: (typeof alice)[]; everyMs?: number } = {},
  ) => {
    const request = { checks: 0, credentialEnds: 0 };
    const check = async () => {
      request.checks += 1;
      const error = answer(request.checks);
      if (error) throw error;
    };
    const credential = { signal: new AbortController().signal, end: () => (request.credentialEnds += 1) };
    return Object.assign(request, longRequests.add({ users, check, everyMs }, credential));
  };
  const allowed = () => undefined;

  it('end with the answer of a check, which follows a loss of the user, a group or a service account', async () => {
    const robot = { name: 'system:serviceaccount:ci:robot', groups: [] };
    const requests = [open(refusal), open(refusal), open(refusal, { users: [robot] })];
    const other = open(refusal, { users: [{ name: 'dev', groups: ['alice'] }] });
    lose({ kind: 'User', name: 'alice' }, { kind: 'ServiceAccount', name: robot.name });
    await eventually(
      () => requests.filter(({ signal }) => signal.aborted).length,
      (ended) => ended === 3,
    );
    expect(requests.map(({ signal }) => signal.reason.status.code)).to.deep.equal([403, 403, 403]);
    expect(requests.map(({ credentialEnds }) => credentialEnds)).to.deep.equal([1, 1, 1]);
    expect(other.checks).to.equal(0);

    lose({ kind: 'Group', name: 'alice' });
    await eventually(() => other.signal.aborted, Boolean);
  });

  it('are checked twice after many losses, the second time without cached decisions', async () => {
    const requests = Array.from({ length: 20 }, () => open(allowed));
    for (let losses = 0; losses < 100; losses += 1) lose({ kind: 'Group', name: 'dev' });
    await eventually(
      () => requests.map(({ checks }) => checks),
      (checks) => checks.every((count) => count === 2),
    );
    expect(drops).to.equal(1);
    expect(requests.filter(({ signal }) => signal.aborted)).to.deep.equal([]);
  });

  it('are checked again after a check without an answer', async () => {
    const request = open((checks) => (checks === 1 ? serviceUnavailable('kubernetes') : refusal()));
    lose({ kind: 'User', name: 'alice' });
    await eventually(() => request.signal.aborted, Boolean);
    expect(request.checks).to.equal(2);
  });

  it('are checked at an interval, if they have one, and no more once they are over', async () => {
    const request = open(allowed, { everyMs: 20 });
    await eventually(
      () => request.checks,
      (checks) => checks > 2,
    );
    request.end();
    const { checks } = request;
    const later = open(allowed);
    lose({ kind: 'User', name: 'alice' });
    await eventually(() => later.checks, Boolean);
    expect(request.checks).to.equal(checks);
  });
});
