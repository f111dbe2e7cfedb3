import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { ChangeLog } from '@atrium/lists/live-list.ts';
import type { ListRow } from '@atrium/lists/properties.ts';
import { expect } from 'chai';
import { get } from '../../../packages/kubernetes/test/calls.ts';
import { type Answer, json, status, statusBody } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { FakeResource } from '../../../packages/kubernetes/test/fake-resource.ts';
import { cut, nothing, path, refuse, reset, say, times, until, WatchTest } from '../../../packages/kubernetes/test/watch-fixture.ts';

/** Path of a call that no watch sends. */
const pods = '/api/v1/pods';
const other = get({ path: pods, isRepeatable: false });

const halfLine = '{"type":"ADDED","object":{"metadata":{"name":"half","uid":"u","resourceVersion":"1004","creationTimestamp":"x"';
const errorEvent = (code: number, reason: string) => `${JSON.stringify({ type: 'ERROR', object: statusBody(code, reason) })}\n`;

describe('a watch', () => {
  let t: WatchTest;
  beforeEach(async () => {
    t = await WatchTest.start();
  });
  afterEach(() => t.stop());

  it('continues from the last bookmark after an ordinary end, without a restart', async () => {
    await t.begin({ times: { minWatchSeconds: 1, maxWatchSeconds: 1 } });
    t.resource.bookmark();
    await until(() => t.cache.resourceVersion === t.resource.version);
    await until(() => t.watches().length >= 2);

    expect(t.watches()[1]?.query.get('resourceVersion')).to.equal(t.resource.version);
    expect(t.lists()).to.have.length(1);
    expect(t.cache.restarts).to.equal(0);
  });

  describe('FLT-06 after an interruption', () => {
    /** Failures of the open watch, which has missed some changes. */
    const interruptions: [string, (watcher: ServerResponse) => Promise<void> | void][] = [
      ['a connection that is reset', (watcher) => reset(watcher)],
      ['an end in the middle of a line', (watcher) => void watcher.end(halfLine)],
      ['a line that is no JSON', (watcher) => void watcher.write('<html>\n')],
      ['an event of an unknown type', (watcher) => void watcher.write('{"type":"SURPRISE","object":{}}\n')],
      ['an object without metadata', (watcher) => void watcher.write('{"type":"ADDED","object":{}}\n')],
      ['a line without end', (watcher) => void watcher.write(Buffer.alloc(5 * 1024 * 1024, 'x'))],
      ['an error in the stream', (watcher) => void watcher.write(errorEvent(500, 'InternalError'))],
      ['a 410 in the stream', (watcher) => void watcher.write(errorEvent(410, 'Expired'))],
      ['a 410 as the answer', (watcher) => thenWatch(watcher, refuse(410))],
      ['500, again and again', (watcher) => thenWatch(watcher, refuse(500), refuse(500), refuse(500), refuse(500))],
      ['429, again and again', (watcher) => thenWatch(watcher, ...Array<Answer>(5).fill(refuse(429, { 'Retry-After': '0' })))],
      ['nonsense, again and again', (watcher) => thenWatch(watcher, say(halfLine), say('garbage\n'), say('{}\n'), cut, cut, cut, cut)],
      ['a server that ends every watch at once', (watcher) => thenWatch(watcher, say(''), say(''), say(''))],
      [
        'a server that is gone for a while',
        async () => {
          await t.server.stop();
          await until(() => t.cache.failure() === 'ECONNREFUSED');
          await t.server.start();
        },
      ],
      [
        'a server that does not know the version any more',
        (watcher) => {
          t.resource.compact();
          reset(watcher);
        },
      ],
      [
        'a failure of the list that is needed then',
        (watcher) => {
          t.resource.compact();
          t.resource.fail('list', refuse(500), cut, refuse(403), refuse(410), say('{"items":[{"metadata":'), say('{"items":3}'), say('[]'));
          reset(watcher);
        },
      ],
      [
        'a restored store whose versions run backwards',
        (watcher) => {
          t.resource.restart();
          t.resource.put('d', '4');
          reset(watcher);
          void until(() => t.resource.watchers === 1).then(() => t.resource.put('b', '22'));
        },
      ],
    ];

    function thenWatch(watcher: ServerResponse, ...answers: Answer[]): void {
      t.resource.fail('watch', ...answers);
      reset(watcher);
    }

    for (const [what, interrupt] of interruptions) {
      it(`loses no change: ${what}`, async () => {
        await t.begin();
        const watcher = t.resource.detach();
        t.resource.remove('a');
        t.resource.put('b', '22');
        t.resource.put('d', '4');
        await interrupt(watcher);
        await until(t.isEqual);
        await until(() => t.resource.watchers === 1 && t.cache.failure() === undefined);
        t.resource.put('e', '5');
        await until(() => t.cache.get('e') === '5');

        expect(t.rows()).to.deep.equal({ b: '22', c: '3', d: '4', e: '5' });
        expect(t.changes.slice(3)).to.deep.include.members([
          { key: 'a', old: '1' },
          { key: 'b', old: '2', new: '22' },
          { key: 'd', new: '4' },
          { key: 'e', new: '5' },
        ]);
        expect(t.cache.restarts).to.be.greaterThan(0);
        expect(t.cache.isStale()).to.equal(false);
      });
    }

    it('loses no change by a server that accepts and says nothing, on the open watch and on new ones', async () => {
      await t.begin({ times: { silenceMs: 150 } });
      t.resource.fail('watch', nothing, nothing);
      t.resource.detach();
      t.resource.remove('a');
      await until(() => t.cache.failure() === 'the watch was silent for 150 ms');
      await until(t.isEqual);

      expect(t.rows()).to.deep.equal({ b: '2', c: '3' });
      expect(t.lists()).to.have.length(1);
    });
  });

  describe('FLT-14 once the API server answers another call after an outage', () => {
    let now: number;
    /** An outage of that length, as another call meets it. */
    const outage = async (ms: number) => {
      t.server.answer(({ path: called }, response) => void (called === pods ? reset(response) : undefined));
      await t.client.asService.request(other).catch(() => undefined);
      now += ms;
      t.server.answer((request, response) => (request.path === pods ? json(response, 200, {}) : t.resource.answer(request, response)));
      await t.client.asService.request(other);
    };
    beforeEach(() => {
      now = 0;
    });

    it('resumes an open watch whose connection is dead, without its silence', async () => {
      await t.begin({ clock: () => now, parts: { clock: () => now } });
      t.resource.detach();
      t.resource.put('d', '4');
      // A failure of less than a second is no outage.
      await outage(999);
      await outage(1_000);
      await until(t.isEqual);

      const lists = t.lists().filter(({ path: listed }) => listed === path);
      expect([t.watches().length, lists.length, t.cache.restarts]).to.deep.equal([2, 1, 0]);
    });

    it('resumes an open watch after a call that its sender gave up', async () => {
      await t.begin({ clock: () => now, parts: { clock: () => now } });
      t.resource.detach();
      t.resource.put('d', '4');
      t.server.answer(nothing);
      const sender = new AbortController();
      const call = t.client.asService.request({ ...other, signal: sender.signal }).catch(() => undefined);
      await until(() => t.server.requests.at(-1)?.path === pods);
      now += 3_000;
      sender.abort();
      await call;
      t.server.answer((request, response) => (request.path === pods ? json(response, 200, {}) : t.resource.answer(request, response)));
      await t.client.asService.request(other);
      await until(t.isEqual);

      expect([t.watches().length, t.cache.restarts]).to.deep.equal([2, 0]);
    });

    it('repeats a list that is not answered', async () => {
      t.create({ clock: () => now, parts: { clock: () => now } });
      t.resource.fail('list', nothing);
      t.cache.start();
      await until(() => t.lists().length === 1);
      await outage(5_000);
      await t.cache.whenSynced();

      expect([t.isEqual(), t.cache.restarts]).to.deep.equal([true, 0]);
    });

    it('ends a pause after a failure, but not one that the server asked for', async () => {
      const pauses: number[] = [];
      const pause = (ms: number, signal: AbortSignal) => {
        pauses.push(ms);
        return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      };
      await t.begin({ clock: () => now, parts: { clock: () => now, random: () => 1, pause } });
      t.resource.fail('watch', refuse(429, { 'Retry-After': '7' }));
      reset(t.resource.detach());
      await until(() => pauses.length === 1);
      await outage(2_000);
      await until(() => pauses.length === 2);
      await outage(2_000);
      // A watch that were sent now would arrive before these calls.
      for (let left = 5; left > 0; left -= 1) await t.client.asService.request(other);
      await t.cache.stop();

      expect(pauses).to.deep.equal([5, 7_000]);
      expect(t.watches()).to.have.length(2);
    });
  });

  it('END-04 lists after a silence so long that its rows were outdated', async () => {
    let now = 0;
    const pause = async () => {
      now += 36_000;
    };
    await t.begin({ parts: { clock: () => now, pause } });
    const watcher = t.resource.detach();
    t.resource.remove('a');
    reset(watcher);
    await until(() => t.resource.watchers === 1);

    expect(t.rows()).to.deep.equal({ b: '2', c: '3' });
    expect(t.lists()).to.have.length(2);
  });

  it('keeps a watch that says something now and then', async () => {
    await t.begin({ times: { silenceMs: 4_000 } });
    // Each bookmark arrives well before the silence limit, on a slow machine too, and all together take longer than it.
    for (let turn = 0; turn < 9; turn += 1) {
      t.resource.bookmark();
      await sleep(500);
    }

    expect(t.watches()).to.have.length(1);
  });

  it('pauses before it watches a server again that ended the watch at once', async () => {
    const pauses: number[] = [];
    t.resource.fail('watch', say(''), say(''), say(''));
    // The clock stands still, so that each watch ends at once, also on a slow machine.
    await t.begin({ parts: { clock: () => 0, random: () => 1, pause: async (ms) => void pauses.push(ms) } });

    expect(pauses).to.deep.equal([5, 10, 20]);
  });

  it('reports no object again that a list after a gap shows unchanged', async () => {
    await t.begin();
    const watcher = t.resource.detach();
    t.resource.compact();
    t.resource.put('b', '22');
    t.resource.compact();
    reset(watcher);
    await until(t.isEqual);

    expect(t.changes.slice(3)).to.deep.equal([{ key: 'b', old: '2', new: '22' }]);
    expect(t.cache.revision).to.equal(4);
  });

  it('pauses longer after each failure in a row, and as long as Retry-After says', async () => {
    const pauses: number[] = [];
    const parts = {
      random: () => 1,
      pause: async (ms: number) => {
        pauses.push(ms);
      },
    };
    t.create({ parts });
    t.cache.start();
    await until(() => t.resource.watchers === 1);
    t.resource.fail(
      'watch',
      ...Array<Answer>(4).fill(refuse(500)),
      refuse(429, { 'Retry-After': '7' }),
      refuse(503, { 'Retry-After': '7200' }),
    );
    reset(t.resource.detach());
    await until(() => t.resource.watchers === 1);
    t.resource.put('d', '4');
    await until(t.isEqual);
    reset(t.resource.detach());
    await until(() => t.resource.watchers === 1);

    expect(pauses).to.deep.equal([5, 10, 20, 40, 40, 7000, 60_000, 5]);
  });

  it('FLT-06 lists soon, and once, when a server that was away has forgotten the version', async () => {
    const pauses: number[] = [];
    await t.begin({ parts: { random: () => 1, pause: async (ms) => void pauses.push(ms) } });
    t.resource.fail('watch', refuse(500), refuse(500), refuse(500), refuse(410), refuse(410), refuse(410));
    reset(t.resource.detach());
    await until(() => pauses.length === 7 && t.resource.watchers === 1);

    expect(pauses).to.deep.equal([5, 10, 20, 40, 5, 10, 20]);
  });

  it('FLT-13 keeps trying while the resource is not installed, and reports that state', async () => {
    t.create();
    t.server.answer((_request, response) => status(response, 404, 'NotFound'));
    expect(t.cache.isSynced).to.equal(false);
    expect(t.cache.isStale()).to.equal(true);
    expect([t.cache.state, t.cache.outdated()]).to.deep.equal(['pending', 'not listed yet']);
    t.cache.start();
    await until(() => t.cache.restarts > 3);
    expect(t.cache.failure()).to.equal('404 NotFound');
    expect(t.cache.isSynced).to.equal(false);
    expect([t.cache.state, t.cache.outdated()]).to.deep.equal(['notInstalled', undefined]);
    t.server.answer(t.resource.answer);
    await t.cache.whenSynced();

    expect(t.cache.failure()).to.equal(undefined);
    expect([t.cache.state, t.cache.outdated()]).to.deep.equal(['synced', undefined]);
    expect(t.rows()).to.deep.equal({ a: '1', b: '2', c: '3' });
  });

  it('FLT-13 drops the rows of a resource that is removed and installed again', async () => {
    await t.begin();
    const watcher = t.resource.detach();
    t.server.answer((_request, response) => status(response, 404, 'NotFound'));
    reset(watcher);
    await until(() => t.cache.failure() === '404 NotFound');
    expect(t.cache.isStale()).to.equal(true);
    expect(t.cache.state).to.equal('notInstalled');
    // A proxy may answer 404 for a moment: rows stay at first, and do not count as current.
    expect([t.rows(), t.cache.outdated()]).to.deep.equal([{ a: '1', b: '2', c: '3' }, '404 NotFound']);
    await until(() => t.cache.size === 0);
    expect(t.cache.outdated()).to.equal(undefined);
    t.resource = new FakeResource(path);
    for (const name of ['w', 'x', 'y', 'z']) t.resource.put(name, 'new');
    t.server.answer(t.resource.answer);
    await until(() => t.resource.watchers === 1);

    expect(t.rows()).to.deep.equal({ w: 'new', x: 'new', y: 'new', z: 'new' });
  });

  it('FLT-13 lets no live list resume across dropped rows, which would keep those that have gone meanwhile', async () => {
    t.create();
    const log = new ChangeLog(t.cache as unknown as WatchCache<ListRow>);
    t.cache.start();
    await until(() => t.resource.watchers === 1);
    const [seen, next] = [t.cache.resourceVersion, log.end];
    expect(log.after(seen)).to.equal(next);
    const watcher = t.resource.detach();
    t.server.answer((_request, response) => status(response, 404, 'NotFound'));
    reset(watcher);
    await until(() => t.cache.size === 0);
    expect(log.at(next)).to.equal('forgotten');
    expect(log.after(seen)).to.equal(undefined);
    t.resource.remove('a');
    t.server.answer(t.resource.answer);
    await until(() => t.cache.size === 2);

    expect(log.after(seen)).to.equal(undefined);
    expect(log.after(t.cache.resourceVersion)).to.equal(log.end);
    t.resource.put('d', '4');
    await until(() => t.cache.size === 3);
    expect(log.at(log.end - 1)).to.deep.include({ new: '4', resourceVersion: t.resource.version });
  });

  it('says by a code what keeps it from watching', async () => {
    t.create();
    t.cache.start();
    for (const [answer, failure] of [
      [refuse(403), '403 Refused'],
      [refuse(401), '401 Refused'],
      [refuse(500), '500 Refused'],
    ] as const) {
      t.server.answer(answer);
      await until(() => t.cache.failure() === failure);
      expect([t.cache.state, t.cache.outdated()]).to.deep.equal(['pending', failure]);
    }
  });

  it('does not show half a list', async () => {
    t.resource.put('d', '4');
    t.resource.put('e', '5');
    t.create({ options: { pageSize: 2 } });
    let page = 0;
    t.server.answer((request, response) => {
      page += 1;
      if (page <= 2) t.resource.answer(request, response);
    });
    t.cache.start();
    await until(() => page === 3);

    expect(t.cache.size).to.equal(0);
    expect(t.cache.isSynced).to.equal(false);
  });

  it('lists again from the start when a list takes so long that it expires', async () => {
    t.create({ options: { pageSize: 2 } });
    let page = 0;
    t.server.answer((request, response) => {
      page += 1;
      if (page === 2) status(response, 410, 'Expired');
      else t.resource.answer(request, response);
    });
    t.cache.start();
    await t.cache.whenSynced();

    expect(t.rows()).to.deep.equal({ a: '1', b: '2', c: '3' });
    expect(t.lists().map(({ query }) => query.get('continue'))).to.deep.equal([null, '1003:2', null, '1003:2']);
  });

  it('ends when it is stopped, whatever it is doing, and asks nothing more', async () => {
    await t.begin();
    await t.cache.stop();
    await until(() => t.resource.watchers === 0);
    const asked = t.server.requests.length;
    await sleep(3 * times.maxPauseMs);
    expect(t.server.requests).to.have.length(asked);

    for (const answer of [nothing, refuse(500), refuse(429, { 'Retry-After': '60' })]) {
      t.server.answer(answer);
      const before = t.server.requests.length;
      t.create();
      t.cache.start();
      await until(() => t.server.requests.length > before);
      await t.cache.stop();
      await t.client.close();
    }
  });
});
