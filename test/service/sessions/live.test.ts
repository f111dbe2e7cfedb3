import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { EventStream } from '../users/event-stream.ts';
import {
  allowKeeper,
  aService,
  cookieName,
  keeper,
  type LoggedIn,
  nameOf,
  namesOf,
  operations,
  patchUser,
  session,
  sessionManifest,
  sessionsPath,
} from './support.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('live lists of sessions', () => {
  const { cluster, provider, service } = aService();
  const leaving: AbortController[] = [];
  before(() => allowKeeper(cluster.kubernetes, ['list', 'watch', 'delete']));
  beforeEach(() => provider.become());
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });
  const open = ({ secret }: LoggedIn, query = '', { at = service.url, headers = {} } = {}) => {
    const controller = new AbortController();
    leaving.push(controller);
    return fetch(`${at}${operations}?watch=true${query}`, {
      headers: { accept: 'text/event-stream', cookie: `${cookieName}=${secret}`, ...headers },
      signal: controller.signal,
    });
  };
  const follow = async (...asked: Parameters<typeof open>) => {
    const response = await open(...asked);
    expect(response.status).to.equal(200);
    const stream = new EventStream(response);
    await stream.untilPresent();
    return stream;
  };
  const end = ({ browser }: LoggedIn, other: LoggedIn) => browser.request(`${operations}/${nameOf(other)}`, { method: 'DELETE' });
  const toldOf = (stream: EventStream, one: LoggedIn) => stream.told().filter((line) => line.endsWith(nameOf(one)));

  it('tell users of their own sessions without a right: begun, changed and ended, and never of those of others', async () => {
    const first = await session(service);
    const stream = await follow(first);
    expect(stream.told()).to.deep.equal([`ADDED ${nameOf(first)}`]);
    const second = await session(service);
    await stream.untilTold(`ADDED ${nameOf(second)}`);
    provider.become();
    const foreign = await session(service);
    expect((await end(foreign, foreign)).status).to.equal(204);
    await cluster.kubernetes.call('PATCH', second.path, { metadata: { labels: { seen: 'yes' } } }, mergePatch);
    await stream.untilTold(`MODIFIED ${nameOf(second)}`);
    expect((await end(first, second)).status).to.equal(204);
    await stream.untilTold(`DELETED ${nameOf(second)}`);

    expect(toldOf(stream, foreign)).to.deep.equal([]);
    const text = JSON.stringify(stream.events);
    for (const secret of [first.secret, first.handle, second.secret, foreign.user, 'sealed']) expect(text).to.not.include(secret);
    expect(text).to.not.match(tokenInText);
    const current = stream.events.flatMap(({ data: { object } }) =>
      'current' in object && object.current === true ? [object.metadata?.name] : [],
    );
    expect(current).to.deep.equal([nameOf(first)]);
  });

  it('end with the session of the request', async () => {
    const [one, other] = [await session(service), await session(service)];
    const stream = await follow(one);
    expect((await end(other, one)).status).to.equal(204);
    expect(await stream.untilError()).to.equal(401);
  });

  it('start again after a disconnection', async () => {
    const one = await session(service);
    const { lastEventID } = await follow(one);
    expect((await open(one, '', { headers: { 'last-event-id': lastEventID } })).status).to.equal(410);
  });

  it('show sessions of another user to callers who may watch sessions, until they lose that right', async () => {
    const one = await session(service);
    provider.become();
    const stranger = await session(service);
    for (const user of [one.user, 'nobody-at-all']) {
      const refused = await open(stranger, `&user=${user}`);
      expect(refused.status).to.equal(403);
      expect(((await refused.json()) as { message: string }).message).to.match(/cannot watch resource "sessions".* in the namespace/);
    }
    const asked = await keeper(service, provider);
    const stream = await follow(asked, `&user=${one.user}`);
    expect(stream.told()).to.deep.equal([`ADDED ${nameOf(one)}`]);
    await allowKeeper(cluster.kubernetes, ['list', 'delete']);
    expect(await stream.untilError()).to.equal(403);
    await allowKeeper(cluster.kubernetes, ['list', 'watch', 'delete']);
  });

  it('end with 410 once a change of the user or the time has ended a session', async () => {
    const one = await session(service);
    const asked = await keeper(service, provider);
    const query = `&user=${one.user}`;
    const followed = () =>
      eventually(
        () => follow(asked, query),
        (opened) => opened.told().length > 0,
      );
    const stream = await followed();
    await patchUser(cluster.kubernetes, one.user, { spec: { is_disabled: true } });
    expect(await stream.untilError()).to.equal(410);
    expect((await follow(asked, query)).told()).to.deep.equal([]);
    await patchUser(cluster.kubernetes, one.user, { spec: { is_disabled: false } });

    const again = await followed();
    const idle = sessionManifest('an-idle-secret', { expiration: cluster.clock.now().getTime() + 86_400_000 });
    const spec = { ...idle.spec, user: one.user, idleExpiration: new Date(cluster.clock.now().getTime() + 60_000).toISOString() };
    await cluster.kubernetes.call('POST', sessionsPath, { ...idle, spec });
    await again.untilTold(`ADDED ${idle.metadata.name}`);
    cluster.clock.advance(61);
    expect(await again.untilError()).to.equal(410);
    expect((await follow(asked, query)).told()).to.deep.equal([`ADDED ${nameOf(one)}`]);
  });

  it('tell of the deletion of a session that time has ended', async () => {
    const patient = await cluster.service({ provider, config: { kubernetes: { accessCache: '1h' } } });
    /** Opens a list of own sessions, of which one expires by idleness after that time. */
    const followExpiring = async (seconds: number) => {
      const one = await session(service);
      const idle = sessionManifest(`idle for ${seconds}`, { expiration: cluster.clock.now().getTime() + 86_400_000 });
      const idleExpiration = new Date(cluster.clock.now().getTime() + seconds * 1000).toISOString();
      const spec = { ...idle.spec, user: one.user, subjectName: provider.person.email, idleExpiration };
      const stream = await follow(one, '', { at: patient.url });
      await cluster.kubernetes.call('POST', sessionsPath, { ...idle, spec });
      await stream.untilTold(`ADDED ${idle.metadata.name}`);
      return { stream, name: idle.metadata.name };
    };
    const { stream, name } = await followExpiring(600);
    provider.become();
    const later = await followExpiring(300);
    cluster.clock.advance(301);
    // A list is checked a second after its beginning, and then after half an hour: the first one was checked before this one.
    expect(await later.stream.untilError()).to.equal(410);
    cluster.clock.advance(300);
    await cluster.kubernetes.call('DELETE', `${sessionsPath}/${name}`);
    await stream.untilTold(`DELETED ${name}`);
    await patient.stop();
  });

  it('are ordinary lists while features.watch is off', async () => {
    const off = await cluster.service({ provider, config: { features: { watch: false } } });
    const one = await session(off);
    const answer = await one.browser.request(`${operations}?watch=true`, { headers: { accept: 'text/event-stream' } });
    expect(namesOf(answer)).to.deep.equal([nameOf(one)]);
    await off.stop();
  });
});
