import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';
import { EventStream } from './event-stream.ts';

const accept = { Accept: 'text/event-stream' };
const emails = ['jane@example.com', 'zoe@example.com', 'adam@example.com'];
const path = (email: string) => `/apis/auth.platform.io/v1/users/${nameOf(email)}`;

describe('GET /auth/v2/users?watch=true', () => {
  const server = forSuite(() => startServer());
  const leaving: AbortController[] = [];

  const ask = (query = '', headers: Record<string, string> = {}, at?: string) => {
    const controller = new AbortController();
    leaving.push(controller);
    const options = { as: 'viewer', headers: { ...accept, ...headers }, signal: controller.signal, ...(at && { at }) } as const;
    return server.request(`/auth/v2/users?watch=true${query}`, options);
  };
  const follow = async (query = '', headers: Record<string, string> = {}, at?: string) => new EventStream(await ask(query, headers, at));
  const emailOf = (name: string) => [...emails, 'new@example.com', 'gone@example.com'].find((email) => nameOf(email) === name) ?? name;
  const rename = (email: string, username: string) =>
    server.kubernetes.call('PATCH', path(email), { spec: { username } }, { 'content-type': 'application/merge-patch+json' });
  const isSettled = (stream: EventStream) => stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(...emails.map((email) => aUser(email)));
    await eventually(
      async () => (await server.request('/auth/v2/users', { as: 'viewer' })).text(),
      (text) => emails.every((email) => text.includes(email)) && !text.includes('"total":0'),
    );
  });
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });

  it('begins with the current users, reports when that is all, and continues with changes', async () => {
    const response = await ask();
    const stream = new EventStream(response);
    await isSettled(stream);
    const before = stream.told(emailOf);
    await server.kubernetes.apply(aUser('new@example.com'));
    await stream.until((events) =>
      events.some(({ event, data }) => event === 'ADDED' && data.object.metadata?.name === nameOf('new@example.com')),
    );
    await rename('new@example.com', 'Renamed');
    await stream.until((events) => events.some(({ data }) => data.object.spec?.username === 'Renamed'));
    await server.kubernetes.remove(path('new@example.com'));
    await stream.until((events) => events.some(({ event }) => event === 'DELETED'));

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(response.headers.get('x-accel-buffering')).to.equal('no');
    // The controller may write a status between the two: that is told as a change.
    expect(before.filter((line) => !line.startsWith('MODIFIED'))).to.have.members(emails.map((email) => `ADDED ${email}`));
    for (const { event, id, data } of stream.events) {
      expect(data.type).to.equal(event);
      expect(data.object.kind).to.equal('User');
      if (event === 'MODIFIED') expect(id).to.equal(data.object.metadata?.resourceVersion);
    }
    const ofNew = stream.told(emailOf).filter((line) => line.endsWith('new@example.com'));
    expect([ofNew[0], ofNew.at(-1)]).to.deep.equal(['ADDED new@example.com', 'DELETED new@example.com']);
    expect(JSON.stringify(stream.events)).not.to.match(/managedFields|password/);
  });

  it('resumes after the last id: nothing twice, nothing missing, also on another replica', async () => {
    const replica = await server.replica();
    const first = await follow();
    await isSettled(first);
    // Names of its own each time, as what is not changed is not told.
    const [zoe, adam, jane] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const hasTold = (stream: EventStream, name: string) =>
      stream.until((events) => events.some(({ data }) => data.object.spec?.username === name));
    const { lastEventID } = first;
    await rename('zoe@example.com', zoe);
    await rename('adam@example.com', adam);
    const again = await follow('', { 'Last-Event-ID': lastEventID });
    await hasTold(again, adam);
    const { lastEventID: later } = again;
    const known = await follow(`&resourceVersion=${later}`);
    const elsewhere = await follow('', { 'Last-Event-ID': later }, replica.url);
    await rename('jane@example.com', jane);
    await hasTold(known, jane);
    await hasTold(elsewhere, jane);

    const versions = ({ events }: EventStream) => events.map(({ id }) => Number(id));
    expect(new Set(again.told(emailOf)))
      .to.include('MODIFIED zoe@example.com')
      .and.include('MODIFIED adam@example.com');
    for (const [stream, after] of [
      [again, lastEventID],
      [known, later],
      [elsewhere, later],
    ] as const) {
      expect(stream.told(emailOf).filter((line) => !line.startsWith('MODIFIED'))).to.deep.equal([]);
      expect(versions(stream)).to.deep.equal([...new Set(versions(stream))].sort((left, right) => left - right));
      expect(versions(stream)[0]).to.be.greaterThan(Number(after));
    }
  });

  it('says 410 of a version that it knows nothing of any more, and makes an EventSource start again', async () => {
    const stream = await follow('&resourceVersion=1');
    await stream.untilOver();

    expect(stream.events).to.have.length(1);
    expect(stream.events[0]).to.deep.include({ event: 'ERROR', id: '' });
    expect(stream.events[0]?.data.object).to.deep.include({ kind: 'Status', code: 410, reason: 'Expired' });
  });

  it('sends matching users: a user who stops matching is DELETED, one that begins to match is ADDED', async () => {
    const stream = await follow('&filterBy=username,special&search=SPECIAL&fieldSelector=spec.connector_id%3Dlocal');
    await isSettled(stream);
    await rename('zoe@example.com', 'a special name');
    await stream.until((events) => events.some(({ event }) => event === 'ADDED'));
    await rename('zoe@example.com', 'a SPECIAL name');
    await stream.until((events) => events.some(({ event }) => event === 'MODIFIED'));
    await rename('zoe@example.com', 'a plain name');
    await stream.until((events) => events.some(({ event }) => event === 'DELETED'));

    expect([...new Set(stream.told(emailOf))]).to.deep.equal([
      'ADDED zoe@example.com',
      'MODIFIED zoe@example.com',
      'DELETED zoe@example.com',
    ]);
  });

  it('ends by itself after timeoutSeconds', async () => {
    const stream = await follow('&timeoutSeconds=1');
    await stream.untilOver();

    expect(stream.events.map(({ event }) => event))
      .to.include('BOOKMARK')
      .and.not.to.include('ERROR');
  });

  it('AUZ-07 ends with an ERROR event when the right to watch is revoked', async () => {
    await grant(server.kubernetes, 'nobody', 'atrium-users-view');
    const nobody = () => server.request('/auth/v2/users?watch=true', { as: 'nobody', headers: accept });
    const stream = new EventStream(await eventually(nobody, ({ status }) => status === 200));
    await isSettled(stream);
    await revoke(server.kubernetes, 'nobody', 'atrium-users-view');
    await stream.untilOver();

    expect(stream.events.at(-1)?.data.object).to.deep.include({ kind: 'Status', code: 403, reason: 'Forbidden' });
  });

  it('is 403 without permission, 401 without a credential, and 400 for unknown parameters', async () => {
    const refused = async (query: string, headers: Record<string, string>, as?: 'viewer' | 'nobody') => {
      const response = await server.request(`/auth/v2/users?watch=true${query}`, { headers, ...(as && { as }) });
      const { code, details } = JSON.parse(await response.text());
      return [response.status, code, details?.causes?.[0]?.field];
    };

    expect(await refused('', accept, 'nobody')).to.deep.equal([403, 403, undefined]);
    expect(await refused('', accept)).to.deep.equal([401, 401, undefined]);
    expect(await refused('', { Accept: 'application/json' }, 'viewer')).to.deep.equal([400, 400, 'watch']);
    expect(await refused('&page=2', accept, 'viewer')).to.deep.equal([400, 400, 'page']);
    expect(await refused('&continue=x', accept, 'viewer')).to.deep.equal([400, 400, 'continue']);
    expect(await refused('&filterBy=password,x', accept, 'viewer')).to.deep.equal([400, 400, 'filterBy']);
    expect(await refused('&timeoutSeconds=0', accept, 'viewer')).to.deep.equal([400, 400, 'timeoutSeconds']);
    expect(await refused('', { ...accept, 'Last-Event-ID': 'abc' }, 'viewer')).to.deep.equal([400, 400, 'Last-Event-ID']);
  });

  it('answers HEAD, and watch=false, as an ordinary list', async () => {
    const head = await server.request('/auth/v2/users?watch=true', { method: 'HEAD', as: 'viewer', headers: accept });
    const list = await server.request('/auth/v2/users?watch=false', { as: 'viewer', headers: accept });

    expect([head.status, list.status]).to.deep.equal([200, 200]);
    expect(head.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(await list.json()).to.include({ kind: 'UserList' });
  });
});

describe('a live list behind a session', () => {
  const password = 'a long enough password';
  const sessionsPath = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`;
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: ['ann@example.com', 'ben@example.com'], password, credentials: 'impersonate' }),
  );

  before(async () => {
    for (const name of ['ann', 'ben'])
      await service.admin.apply(clusterRoleBinding(name, 'atrium-users-view', { kind: 'User', name: `${name}@example.com` }));
  });

  const follow = async (email: string) => {
    const { browser } = await service.logIn(email, password);
    const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const response = await eventually(
      () => service.request('/auth/v2/users?watch=true', { headers: { ...accept, cookie } }),
      ({ status }) => status === 200,
    );
    const stream = new EventStream(response);
    await stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
    return stream;
  };

  it('ends at once when the session is deleted with kubectl', async () => {
    const stream = await follow('ann@example.com');
    await service.admin.remove(sessionsPath);
    await stream.untilOver();

    expect(stream.events.at(-1)?.data.object).to.deep.include({ kind: 'Status', code: 401, reason: 'Unauthorized' });
  });

  it('ends at once when its user is disabled', async () => {
    const stream = await follow('ben@example.com');
    const disabled = { spec: { is_disabled: true } };
    await service.admin.call('PATCH', path('ben@example.com'), disabled, { 'content-type': 'application/merge-patch+json' });
    await stream.untilOver();

    expect(stream.events.at(-1)?.data.object).to.deep.include({ kind: 'Status', code: 401, reason: 'Unauthorized' });
  });
});

describe('features.watch, when it is off', () => {
  it('leaves the list as it is: the parameter is an unknown one', async () => {
    const server = await startServer({ config: { features: { watch: false } } });
    const response = await server.request('/auth/v2/users?watch=true', { as: 'admin', headers: accept });
    const body = await response.json();
    await server.stop();

    expect(response.status).to.equal(200);
    expect(body).to.include({ kind: 'UserList' });
  });
});
