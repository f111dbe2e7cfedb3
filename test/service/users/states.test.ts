import { expect } from 'chai';
import { describe, it } from 'mocha';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { Clock } from '../login/support.ts';
import { aUser, nameOf } from './a-user.ts';

interface User {
  metadata: { name: string; labels?: Record<string, string> };
  status?: { phase?: string; reason?: string; subjectName?: string; conditions?: { type: string; status: string; reason: string }[] };
}

const users = '/apis/auth.platform.io/v1/users';

describe('the states of users', () => {
  const clock = new Clock();
  const server = forSuite(() => startServer({ now: clock.now }));

  const secondsAhead = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  const read = async (name: string) => (await server.kubernetes.call('GET', `${users}/${name}`)).body as User;
  const conditions = ({ status }: User) => Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, one.status]));
  const untilPhase = (name: string, phase: string) =>
    eventually(
      () => read(name),
      ({ status }) => status?.phase === phase,
    );
  /** Creates a user like `kubectl apply`: without a status. */
  const apply = (email: string, spec: Record<string, unknown> = {}): Promise<void> => {
    const { status: _status, ...user } = aUser(email);
    return server.kubernetes.apply({ ...user, spec: { ...(user.spec as object), ...spec } } as Manifest);
  };

  it('are written for a user made with kubectl, with labels and the name that Kubernetes will see', async () => {
    await apply('by-hand@example.com');
    const user = await untilPhase(nameOf('by-hand@example.com'), 'Normal');
    expect(user.status?.subjectName).to.equal('by-hand@example.com');
    expect(user.metadata.labels).to.include({ 'auth.platform.io/user.state': 'active' });
    expect(conditions(user)).to.deep.equal({
      Ready: 'True',
      Enabled: 'True',
      Unlocked: 'True',
      SourceFound: 'True',
      PasswordSet: 'False',
      Canonical: 'True',
    });
  });

  it('follow changes with kubectl, and an Event reports it', async () => {
    const name = nameOf('changed@example.com');
    await apply('changed@example.com');
    await untilPhase(name, 'Normal');
    await apply('changed@example.com', { is_disabled: true });
    const user = await untilPhase(name, 'Disabled');
    expect(user.status?.reason).to.equal('ByHand');
    expect(conditions(user)).to.include({ Ready: 'False', Enabled: 'False', Unlocked: 'True' });
    await eventually(
      async () =>
        (await server.kubernetes.call('GET', '/api/v1/namespaces/default/events')).body as {
          items: { reason: string; involvedObject: { name: string } }[];
        },
      ({ items }) => items.some(({ reason, involvedObject }) => reason === 'PhaseChanged' && involvedObject.name === name),
    );
  });

  it('change when a time passes, with nothing written', async () => {
    await apply('short@example.com', { expired: { end: secondsAhead(600) } });
    await untilPhase(nameOf('short@example.com'), 'Normal');
    clock.advance(600);
    // A clock change is noticed at the next change of any user, or after a minute.
    await apply('bystander@example.com');
    const user = await untilPhase(nameOf('short@example.com'), 'Disabled');
    expect(user.status?.reason).to.equal('Expired');
  });

  it('remove a record whose making was never finished', async () => {
    const begun = (email: string, status: Record<string, unknown>) => server.kubernetes.apply({ ...aUser(email), status });
    await begun('half@example.com', { unfinishedSince: secondsAhead(-300) });
    await begun('under-way@example.com', { unfinishedSince: secondsAhead(-10) });
    await begun('whole@example.com', { unfinishedSince: secondsAhead(-300), activatedTime: secondsAhead(-200) });

    await eventually(
      () => server.kubernetes.call('GET', `${users}/${nameOf('half@example.com')}`),
      ({ status }) => status === 404,
    );
    await untilPhase(nameOf('whole@example.com'), 'Normal');
    expect((await read(nameOf('under-way@example.com'))).metadata.name).to.equal(nameOf('under-way@example.com'));
  });

  it('are written by one replica, which holds a Lease', async () => {
    const { body } = await server.kubernetes.call('GET', '/apis/coordination.k8s.io/v1/namespaces/atrium-system/leases/atrium-user-states');
    expect((body as { spec: { holderIdentity: string } }).spec.holderIdentity).to.match(/^atrium-/);
  });
});
