/** Events and conditions that say why an object of the platform does not work. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { untilWarned, warningsAbout } from '../../support/warning-events.ts';
import { aBinding, aGroup, bindingsPath, type UserBinding } from './support.ts';

const groupsPath = '/apis/auth.platform.io/v1/groups';
const merge = { 'content-type': 'application/merge-patch+json' };

interface Conditioned {
  metadata: { generation: number };
  status?: { observedGeneration?: number; conditions?: { type: string; status: string; reason: string; observedGeneration?: number }[] };
}

describe('E13 the controller of an object that does not work', () => {
  const server = forSuite(() => startServer());
  const untilObserved = async <T extends Conditioned>(path: string): Promise<T> =>
    eventually(
      async () => (await server.kubernetes.call('GET', path)).body as T,
      ({ metadata, status }) => status?.conditions !== undefined && status.observedGeneration === metadata.generation,
    );

  it('names a misspelt role in Ready and in one Warning Event', async () => {
    const path = `${bindingsPath}/misspelt`;
    await server.kubernetes.apply(aBinding('misspelt', { roleRef: 'veiw' }));
    const { metadata, status } = await untilObserved<UserBinding>(path);
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    expect(status?.phase).to.equal('Failed');
    expect(ready).to.include({ status: 'False', reason: 'RoleNotFound', message: 'the ClusterRole veiw does not exist' });
    for (const condition of status?.conditions ?? []) expect(condition).to.include({ observedGeneration: metadata.generation });
    const [event] = await untilWarned(server.kubernetes, 'UserBinding', 'misspelt');
    expect(event).to.include({ reason: 'RoleNotFound', message: 'the ClusterRole veiw does not exist' });
    expect(event?.involvedObject).to.include({ apiVersion: 'auth.platform.io/v1', uid: metadata.uid });

    await server.kubernetes.call('PATCH', path, { spec: { subjects: [{ kind: 'User', name: 'joe' }] } }, merge);
    await untilObserved(path);
    await server.kubernetes.apply(aBinding('also-misspelt', { roleRef: 'eidt' }));
    await untilWarned(server.kubernetes, 'UserBinding', 'also-misspelt');
    expect(await warningsAbout(server.kubernetes, 'UserBinding', 'misspelt')).to.have.length(1);
  });

  it('warns of a role that the service may not bind', async () => {
    await server.kubernetes.apply(aBinding('too-much', { roleRef: 'cluster-admin' }));
    const [event] = await untilWarned(server.kubernetes, 'UserBinding', 'too-much');
    expect(event).to.include({ reason: 'NotAllowedToBind' });
    expect(event?.message).to.contain('cluster-admin');
  });

  it('does not warn of a UserBinding before its begin', async () => {
    await server.kubernetes.apply(aBinding('early', { notBefore: '2090-01-01T00:00:00Z' }));
    await untilObserved(`${bindingsPath}/early`);
    await server.kubernetes.apply(aBinding('after-early', { roleRef: 'veiw' }));
    await untilWarned(server.kubernetes, 'UserBinding', 'after-early');
    expect(await warningsAbout(server.kubernetes, 'UserBinding', 'early')).to.deep.equal([]);
  });

  it('names members without a record, again after a change of the Group only', async () => {
    const path = `${groupsPath}/strangers`;
    await server.kubernetes.apply(aGroup('strangers', ['nobody']));
    const { metadata, status } = await untilObserved<Conditioned>(path);
    expect(status?.conditions).to.have.length(1);
    expect(status?.conditions?.[0]).to.include({ status: 'False', observedGeneration: metadata.generation });
    const [event] = await untilWarned(server.kubernetes, 'Group', 'strangers');
    expect(event).to.include({ reason: 'MembersWithoutRecord', message: 'no User record has these names: nobody' });

    await server.kubernetes.call('PATCH', path, { spec: { users: [{ name: 'nobody' }, { name: 'noone' }] } }, merge);
    const events = await untilWarned(server.kubernetes, 'Group', 'strangers', 2);
    expect(events.map(({ message }) => message)).to.include('no User record has these names: nobody, noone');
  });
});
