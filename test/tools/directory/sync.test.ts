import { expect } from 'chai';
import { Attribute, Change } from 'ldapts';
import { after, before, describe, it } from 'mocha';
import { type ConnectorResult, syncResult } from '../../../src/directory/schema.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { aGroup, aPerson, groups, limited, people, Slapd } from './slapd.ts';

interface User {
  metadata: { name: string; resourceVersion: string; labels: Record<string, string> };
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const users = '/apis/auth.platform.io/v1/users';
const lease = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-user-sync`;
const person = (uid: string, more: Record<string, string> = {}) =>
  aPerson({ uid, cn: `${uid} of Corp`, mail: `${uid}@corp.example.com`, ...more });
const registeredAhead = (email: string): Manifest => {
  const user = aUser(email);
  return { ...user, spec: { ...(user.spec as object), connector_type: '', connector_id: '', connector_name: '' } };
};
const dnOf = (uid: string) => `uid=${uid},${people}`;

describe('PUT /auth/v1/users/sync', () => {
  const slapd = forSuite(() =>
    Slapd.start([
      ...['anna', 'ben', 'chris', 'dora', 'emil'].map((uid) => person(uid, { mobile: '+49 30 1234' })),
      person('boss'),
      person('linked'),
      person('ahead'),
      aPerson({ uid: 'nomail', cn: 'No Mail' }),
      person('twin'),
      aPerson({ uid: 'twin2', cn: 'Another Twin', mail: 'TWIN@corp.example.com' }),
      aGroup('dev', [dnOf('anna'), dnOf('ben')]),
      aGroup('system:masters', [dnOf('anna')]),
      aGroup('kubeadm:cluster-admins', [dnOf('anna')]),
      aGroup('admins', [dnOf('anna')]),
    ]),
  );
  let server: TestServer;
  let slow: TcpProxy;

  before(async () => {
    slow = new TcpProxy(slapd.secureURL);
    await slow.start();
    const bindPasswordFile = await slapd.file('limited', limited.password);
    const ldap = [
      slapd.connector(),
      slapd.connector({ id: 'slow', url: slow.url, filter: '(uid=anna)' }),
      slapd.connector({ id: 'dead', url: 'ldaps://127.0.0.1:1' }),
      slapd.connector({ id: 'limited', bindDN: limited.dn, bindPasswordFile }),
      slapd.connector({ id: 'nobody', filter: '(uid=nobody)' }),
    ];
    server = await startServer({
      config: { users: { ldap } },
      objects: [
        aUser('boss@corp.example.com', { is_admin: true }),
        aUser('linked@corp.example.com', { is_disabled: true }),
        registeredAhead('ahead@corp.example.com'),
      ],
    });
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });
  after(async () => {
    await server.stop();
    await slow.cut();
  });

  const put = (body: unknown = { connector_id: 'corp' }, { query = '', as = 'manager' as Person, at = server.url } = {}) =>
    server.request(`/auth/v1/users/sync${query}`, { method: 'PUT', as, at, body });
  const sync = async (body: unknown = { connector_id: 'corp' }): Promise<ConnectorResult> => {
    const response = await put(body);
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const result = syncResult.parse(JSON.parse(text));
    expect(result.state).to.equal('Completed');
    const [connector] = result.connectors;
    if (connector === undefined) throw new Error(text);
    return connector;
  };
  const read = async (uid: string) => (await server.kubernetes.call('GET', `${users}/${nameOf(`${uid}@corp.example.com`)}`)).body as User;
  const last = async (at = server.url) => {
    const response = await server.request('/auth/v1/users/sync', { as: 'manager', at });
    expect(response.status).to.equal(200);
    return syncResult.parse(await response.json());
  };
  const counts = ({ errors, warnings, connector_id, connector_type, status, ...rest }: ConnectorResult) =>
    Object.fromEntries(Object.entries(rest).filter(([, count]) => count !== 0));

  it('counts and writes nothing in a dry run', async () => {
    const result = await sync({ connector_id: 'corp', dryRun: true });
    expect(counts(result)).to.deep.equal({ fetched: 11, created: 5, linked: 2, failed: 4 });
    expect((await server.kubernetes.call('GET', `${users}/${nameOf('anna@corp.example.com')}`)).status).to.equal(404);
  });

  it('creates users of entries, with their groups, and links users of other sources, but never an administrator', async () => {
    const result = await sync();
    expect(result).to.deep.include({ connector_id: 'corp', connector_type: 'ldap', status: 'Success' });
    expect(counts(result)).to.deep.equal({ fetched: 11, created: 5, linked: 2, failed: 4 });
    expect(result.errors.map(({ reason, entry }) => [reason, entry])).to.have.deep.members([
      ['Unfit', dnOf('nomail')],
      ['Duplicate', dnOf('twin')],
      ['Duplicate', dnOf('twin2')],
      ['Administrator', dnOf('boss')],
    ]);

    const anna = await read('anna');
    expect(anna.spec).to.deep.include({
      email: 'anna@corp.example.com',
      username: 'anna of Corp',
      account: 'anna',
      mobile: '+49 30 1234',
      connector_type: 'ldap',
      connector_id: 'corp',
      connector_name: 'Corporation',
      is_admin: false,
      valid: true,
    });
    expect((anna.spec.ids as { type: string; id: string }[])[0]).to.have.property('type', 'ldap');
    expect(anna.status).to.deep.include({ phase: 'Normal', groups: ['admins', 'dev'] });
    expect(anna.status?.lastSyncTime).to.match(/Z$/);
    expect(anna.metadata.labels).to.include({
      'auth.platform.io/user.connector_id': 'corp',
      'auth.platform.io/user.connector_type': 'ldap',
    });

    const linked = await read('linked');
    expect(linked.spec).to.deep.include({ connector_type: 'local', is_disabled: true });
    expect(linked.spec.ids).to.have.length(1);
    expect((await read('ahead')).spec).to.include({ connector_type: 'ldap', connector_id: 'corp' });
    expect((await read('boss')).spec.ids).to.equal(undefined);

    const list = await server.request('/auth/v2/users?filterBy=connector_id,corp', { as: 'manager' });
    expect(((await list.json()) as { total: number }).total).to.equal(6);
  });

  it('changes nothing the second time', async () => {
    const before = await eventually(
      () => read('anna'),
      ({ status }) => Array.isArray(status?.conditions),
    );
    expect(counts(await sync())).to.deep.equal({ fetched: 11, unchanged: 7, failed: 4 });
    expect((await read('anna')).metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
  });

  it('follows changes, recognises renamed entries, and removes groups', async () => {
    await slapd.modify(dnOf('anna'), new Change({ operation: 'replace', modification: new Attribute({ type: 'mobile', values: [] }) }));
    await slapd.modify(
      dnOf('ben'),
      new Change({ operation: 'replace', modification: new Attribute({ type: 'cn', values: ['Bénjamin, "Ben" + Söhne'] }) }),
    );
    await slapd.modify(
      `cn=dev,${groups}`,
      new Change({ operation: 'delete', modification: new Attribute({ type: 'member', values: [dnOf('ben')] }) }),
    );
    const { spec } = await read('chris');
    await slapd.rename(dnOf('chris'), 'uid=Chris\\, \\"the\\" \\+ One');

    expect(counts(await sync())).to.deep.equal({ fetched: 11, unchanged: 4, updated: 3, failed: 4 });
    expect((await read('anna')).spec.mobile).to.equal(undefined);
    expect((await read('ben')).spec.username).to.equal('Bénjamin, "Ben" + Söhne');
    expect((await read('ben')).status?.groups ?? []).to.deep.equal([]);
    const chris = await read('chris');
    expect(chris.spec.account).to.equal('Chris, "the" + One');
    expect(chris.spec.ids).to.deep.equal(spec.ids);
  });

  it('invalidates users without an entry and never deletes them, and restores them when the entry returns', async () => {
    const id = ((await read('dora')).spec.ids as { id: string }[])[0]?.id ?? '';
    await slapd.remove(dnOf('dora'));
    expect(counts(await sync())).to.deep.include({ invalidated: 1 });
    const dora = await read('dora');
    expect(dora.spec.valid).to.equal(false);
    expect(dora.status).to.include({ phase: 'Invalid', reason: 'GoneFromSource' });
    expect(counts(await sync())).not.to.have.property('invalidated');

    await slapd.add(person('dora', { mobile: '+49 30 1234' }));
    expect((await sync()).errors.map(({ reason, entry }) => [reason, entry])).to.deep.include(['EntryDiffers', dnOf('dora')]);
    expect((await read('dora')).spec.valid).to.equal(false);
    await slapd.remove(dnOf('dora'));
    await slapd.restore(person('dora', { mobile: '+49 30 1234' }), id);
    expect(counts(await sync())).to.deep.include({ restored: 1 });
    expect((await read('dora')).status).to.include({ phase: 'Normal' });
  });

  it('refuses to invalidate too many users, unless it is forced', async () => {
    for (const uid of ['ben', 'dora', 'emil', 'ahead']) await slapd.remove(dnOf(uid));
    const result = await sync();
    expect(result.status).to.equal('Failed');
    expect(result.errors[0]).to.include({ reason: 'TooManyInvalid' });
    expect(counts(result)).not.to.have.any.keys('invalidated', 'unchanged');
    expect((await read('ben')).spec.valid).to.equal(true);
    expect((await sync({ connector_id: 'corp', dryRun: true })).errors[0]).to.include({ reason: 'TooManyInvalid' });

    expect(counts(await sync({ connector_id: 'corp', force: true }))).to.deep.include({ invalidated: 4 });
    expect((await read('ben')).spec.valid).to.equal(false);
  });

  it('audits runs, except for dry runs', async () => {
    const lines = () => server.auditLines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'UsersSynced');
    const count = lines().length;
    await sync({ connector_id: 'corp', dryRun: true });
    await sync();
    expect(lines()).to.have.length(count + 1);
    expect(lines().at(-1)).to.include({ outcome: 'success' }).and.have.nested.property('actor.name', 'manager');
    expect(lines().map(({ reason }) => reason)).to.include('TooManyInvalid');
    expect([...server.auditLines, ...server.logLines].join('')).not.to.match(/sécret|-secret/);
  });

  it('invalidates no user if a directory lists none or its answer is cut off, even when it is forced', async () => {
    const nobody = await sync({ connector_id: 'nobody' });
    expect(nobody).to.deep.include({ status: 'Failed', fetched: 0, invalidated: 0 });
    expect(nobody.errors[0]).to.include({ reason: 'Incomplete' });
    expect(await sync({ connector_id: 'nobody', force: true })).to.include({ status: 'Success' });

    for (let index = 0; index < 101; index += 1) await slapd.add(person(`many${index}`));
    for (const force of [false, true]) {
      const result = await sync({ connector_id: 'limited', force });
      expect(result).to.deep.include({ status: 'Failed', fetched: 0, created: 0 });
      expect(result.errors).to.deep.equal([
        { reason: 'Incomplete', message: 'the directory did not answer a search to its end: LDAP result 4' },
      ]);
    }
    for (let index = 0; index < 101; index += 1) await slapd.remove(dnOf(`many${index}`));
  });

  it('answers 503 if no directory can be reached, and continues with the others if one cannot', async () => {
    const response = await put({ connector_id: 'dead' });
    const text = await response.text();
    expect(response.status, text).to.equal(503);
    expect(response.headers.get('retry-after')).to.equal('10');
    expect(text).not.to.contain('127.0.0.1');

    const all = syncResult.parse(await (await put({})).json());
    expect(all.connectors.map(({ connector_id, status, errors }) => [connector_id, status, errors[0]?.reason])).to.deep.include.members([
      ['dead', 'Failed', 'Unreachable'],
      ['slow', 'Success', undefined],
    ]);
  });

  it('refuses callers without the right, unknown connectors and invalid requests', async () => {
    const status = async (response: Promise<Response>) => (await response).status;
    expect(await status(server.request('/auth/v1/users/sync', { method: 'PUT' }))).to.equal(401);
    expect(await status(put({}, { as: 'nobody' }))).to.equal(403);
    expect(await status(put({ connector_id: 'unknown' }, { as: 'nobody' }))).to.equal(403);
    expect(await status(server.request('/auth/v1/users/sync', { as: 'nobody' }))).to.equal(403);
    expect(await status(put({ connector_id: 'unknown' }))).to.equal(404);
    for (const body of [{ connector: 'corp' }, { dryRun: 'yes' }, { connector_id: '' }, { force: 1 }, [], 'null'])
      expect(await status(put(body)), JSON.stringify(body)).to.equal(400);
    for (const query of ['?timeoutSeconds=0', '?timeoutSeconds=301', '?timeoutSeconds=x', '?timeoutSeconds=1&timeoutSeconds=2'])
      expect(await status(put({}, { query })), query).to.equal(400);
  });

  it('LDP-03 runs once at a time over all replicas; a long run continues, is shown everywhere and ends with its replica', async () => {
    const { url: at, stop } = await server.replica();
    await eventually(
      async () => (await put({ connector_id: 'slow' }, { at })).status,
      (status) => status === 200,
    );
    slow.holdAnswers();
    const both = await Promise.all(
      [server.url, at].map((replica) => put({ connector_id: 'slow' }, { at: replica, query: '?timeoutSeconds=1' })),
    );
    expect(both.map(({ status }) => status).sort()).to.deep.equal([202, 409]);
    const refused = both.find(({ status }) => status === 409);
    expect(Number(refused?.headers.get('retry-after'))).to.be.within(1, 30);
    const text = await refused?.text();
    expect(JSON.parse(text ?? '')).to.deep.include({ reason: 'Conflict', code: 409 });
    expect(syncResult.parse(await both.find(({ status }) => status === 202)?.json())).to.include({ state: 'Running' });
    expect((await put({ connector_id: 'corp' }, { as: 'bob' })).status).to.equal(403);
    for (const replica of [server.url, at]) expect((await last(replica)).state).to.equal('Running');

    slow.releaseAnswers();
    const ended = await eventually(
      () => last(at),
      ({ state }) => state !== 'Running',
    );
    expect(ended.state).to.equal('Completed');
    expect(ended.connectors.map(({ connector_id, status }) => [connector_id, status])).to.deep.equal([['slow', 'Success']]);
    expect((await put({ connector_id: 'slow' }, { at })).status).to.equal(200);

    slow.holdAnswers();
    expect((await put({ connector_id: 'slow' }, { at, query: '?timeoutSeconds=1' })).status).to.equal(202);
    await stop();
    slow.releaseAnswers();
    expect((await last()).state).to.equal('Interrupted');
    expect((await put({ connector_id: 'slow' })).status).to.equal(200);
  });

  it('takes over from a lost replica, and reports that its run was interrupted', async () => {
    const { body } = await server.kubernetes.call('GET', lease);
    const found = body as { metadata: { annotations: Record<string, string> }; spec: Record<string, unknown> };
    const result = JSON.parse(found.metadata.annotations['auth.platform.io/sync-result'] ?? '');
    const hold = (renewedSecondsAgo: number) =>
      server.kubernetes.call(
        'PATCH',
        lease,
        {
          metadata: { annotations: { 'auth.platform.io/sync-result': JSON.stringify({ ...result, state: 'Running', connectors: [] }) } },
          spec: {
            holderIdentity: 'atrium-gone',
            leaseDurationSeconds: 30,
            renewTime: new Date(Date.now() - renewedSecondsAgo * 1000).toISOString().replace('Z', '000Z'),
          },
        },
        { 'content-type': 'application/merge-patch+json' },
      );
    expect((await hold(5)).status).to.equal(200);
    expect((await last()).state).to.equal('Running');
    expect((await put()).status).to.equal(409);
    expect((await hold(60)).status).to.equal(200);
    expect((await last()).state).to.equal('Interrupted');
    expect((await put()).status).to.equal(200);
    expect((await last()).state).to.equal('Completed');
  });
});
