import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { expect } from 'chai';
import { failureOf, forever, silentLog } from './fake-api-server.ts';
import { nothing, path, reset, things, times, until, WatchTest } from './watch-fixture.ts';

describe('a watch cache', () => {
  let t: WatchTest;
  beforeEach(async () => {
    t = await WatchTest.start();
  });
  afterEach(() => t.stop());

  it('holds the listed objects, and then every change', async () => {
    await t.begin();
    expect(t.rows()).to.deep.equal({ a: '1', b: '2', c: '3' });
    t.resource.put('b', '22');
    t.resource.remove('a');
    t.resource.put('d', '4');
    await until(t.isEqual);

    expect(t.rows()).to.deep.equal({ b: '22', c: '3', d: '4' });
    expect(t.cache.size).to.equal(3);
    expect(t.cache.get('b')).to.equal('22');
    expect(t.changes.slice(3)).to.deep.equal([
      { key: 'b', old: '2', new: '22' },
      { key: 'a', old: '1' },
      { key: 'd', new: '4' },
    ]);
    expect(t.cache.revision).to.equal(6);
    expect(t.lists()).to.have.length(1);
  });

  it('lists in pages and watches from there, with bookmarks and an end', async () => {
    await t.begin({ options: { pageSize: 2, labelSelector: 'a=b', fieldSelector: 'metadata.name!=x' } });
    const asked = t.server.requests.map(({ target }) => target.replace(path, ''));

    expect(asked).to.deep.equal([
      '?labelSelector=a%3Db&fieldSelector=metadata.name%21%3Dx&limit=2',
      '?labelSelector=a%3Db&fieldSelector=metadata.name%21%3Dx&limit=2&continue=1003%3A2',
      '?labelSelector=a%3Db&fieldSelector=metadata.name%21%3Dx&watch=true&allowWatchBookmarks=true&resourceVersion=1003&timeoutSeconds=20',
    ]);
    expect(t.cache.size).to.equal(3);
  });

  it('names objects by namespace and name where it watches all namespaces, and asks for metadata alone if that is sufficient', async () => {
    t.resource.put('a', 'in shop', 'shop');
    await t.begin({ options: { isMetadataOnly: true } });

    expect(t.cache.get('shop/a')).to.equal('in shop');
    expect(t.cache.get('a')).to.equal('1');
    expect(t.server.requests.map(({ headers }) => headers.accept)).to.deep.equal([
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
    ]);
  });

  it('does not hold objects without a row', async () => {
    await t.begin();
    t.resource.put('a', 'unwanted');
    t.resource.put('x', 'unwanted');
    t.resource.put('y', 'wanted');
    await until(() => t.cache.get('y') !== undefined);

    expect(t.rows()).to.deep.equal({ b: '2', c: '3', y: 'wanted' });
    expect(t.cache.revision).to.equal(5);
  });

  it('reports a long first list in slices, and is complete after the last', async () => {
    for (let index = 0; index < 40; index += 1) t.resource.put(`n${index}`, 'x');
    t.create();
    const turns: number[] = [];
    let turn = 0;
    const counting = setInterval(() => {
      turn += 1;
    }, 0);
    t.cache.onChange(() => {
      expect(t.cache.isSynced).to.equal(false);
      turns.push(turn);
      const until = performance.now() + 2;
      while (performance.now() < until);
    });
    t.cache.start();
    await t.cache.whenSynced();
    clearInterval(counting);

    expect(turns).to.have.length(43);
    expect(new Set(turns).size).to.be.greaterThan(4);
  });

  it('shows nothing where there are more objects than it may follow, and tries again each minute', async () => {
    const pauses: number[] = [];
    const parts = {
      pause: async (ms: number) => {
        if (pauses.push(ms) === 1) for (const name of ['a', 'b']) t.resource.remove(name);
        else t.resource.remove('d');
      },
    };
    await t.begin({ options: { maxObjects: 2 }, parts });

    expect(pauses).to.deep.equal([60_000]);
    expect(t.rows()).to.deep.equal({ c: '3' });
    t.resource.put('d', '4');
    t.resource.put('e', '5');
    await until(() => pauses.length > 1);
    await until(() => t.cache.get('d') === undefined);

    expect(t.rows()).to.deep.equal({ c: '3', e: '5' });
    expect(pauses).to.deep.equal([60_000, 60_000]);
  });

  it('continues if one object or a listener fails', async () => {
    const keep = ({ data }: KubernetesObject) => {
      if (data === 'poison') throw new Error('cannot');
      return String(data);
    };
    await t.begin({ options: { keep } });
    t.cache.onChange(() => {
      throw new Error('cannot');
    });
    t.resource.put('a', 'poison');
    t.resource.put('d', '4');
    await until(() => t.cache.get('d') === '4');

    expect(t.rows()).to.deep.equal({ b: '2', c: '3', d: '4' });
    expect(t.cache.restarts).to.equal(0);
  });

  it('puts events together from pieces, also within a character', async () => {
    await t.begin();
    const event = Buffer.from(
      `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'z', uid: 'u', resourceVersion: '2000', creationTimestamp: 'x' }, data: 'zürich 🏔' } })}\n`,
    );
    for (let at = 0; at < event.length; at += 1) {
      t.resource.write(event.subarray(at, at + 1));
      if (at % 40 === 0) await sleep(1);
    }
    await until(() => t.cache.get('z') !== undefined);

    expect(t.cache.get('z')).to.equal('zürich 🏔');
    expect(t.watches()).to.have.length(1);
  });

  describe('waiting for a version', () => {
    const seen = (version: string, timeoutMs: number) => t.cache.until(() => t.cache.hasSeen(version), timeoutMs, forever());

    it('ends when a change or a bookmark brings it', async () => {
      await t.begin();
      expect(await seen(t.resource.version, 0)).to.equal(true);
      const change = seen('1004', 10_000);
      t.resource.put('d', '4');
      expect(await change).to.equal(true);
      expect(t.cache.get('d')).to.equal('4');
      const bookmark = seen('1005', 10_000);
      t.resource.bookmark();

      expect(await bookmark).to.equal(true);
    });

    it('does not take the time in which the process was stopped for time in which the watch was silent', async () => {
      await t.begin();
      const waiting = seen('1004', 400);
      // The timers run next, and then the received data is processed.
      await nextTurn();
      t.resource.put('d', '4');
      const stoppedUntil = performance.now() + 500;
      while (performance.now() < stoppedUntil);

      expect(await waiting).to.equal(true);
    });

    it('ends with the list after a gap', async () => {
      await t.begin();
      const waiting = seen('1004', 10_000);
      const watcher = t.resource.detach();
      t.resource.put('d', '4');
      t.resource.compact();
      reset(watcher);

      expect(await waiting).to.equal(true);
    });

    it('ends after its time, or when the caller goes away', async () => {
      await t.begin();
      const goingAway = new AbortController();
      const waiting = failureOf(t.cache.whenReady('9999', goingAway.signal));
      goingAway.abort(new Error('gone'));

      expect(await seen('9999', 10)).to.equal(false);
      expect(await seen('not a number', 10)).to.equal(false);
      expect(await waiting).to.equal(goingAway.signal.reason);
      await t.cache.waitForWrite('9999', goingAway.signal);
      expect(await failureOf(t.cache.whenReady('9999', goingAway.signal))).to.equal(goingAway.signal.reason);
    });
  });

  describe('waiting until something is so', () => {
    it('ends at once, or with the change that makes it so', async () => {
      await t.begin();
      expect(await t.cache.until(() => t.cache.get('a') === '1', 0, forever())).to.equal(true);
      const waiting = t.cache.until(() => t.cache.get('a') === undefined, 10_000, forever());
      t.resource.put('d', '4');
      t.resource.remove('a');

      expect(await waiting).to.equal(true);
      expect(t.rows()).to.deep.equal({ b: '2', c: '3', d: '4' });
    });

    it('says no after its time, and when the caller goes away or is gone', async () => {
      await t.begin();
      const goingAway = new AbortController();
      const waiting = t.cache.until(() => false, 10_000, goingAway.signal);
      goingAway.abort(new Error('gone'));

      expect(await waiting).to.equal(false);
      expect(await t.cache.until(() => false, 10_000, goingAway.signal)).to.equal(false);
      expect(await t.cache.until(() => false, 10, forever())).to.equal(false);
    });

    it('fails with its condition, and fails no other wait', async () => {
      await t.begin();
      let isAsked = false;
      const cannot = () => {
        if (isAsked) throw new Error('cannot');
        isAsked = true;
        return false;
      };
      const failing = failureOf(t.cache.until(cannot, 10_000, forever()));
      const waiting = t.cache.until(() => t.cache.get('d') === '4', 10_000, forever());
      t.resource.put('d', '4');

      expect(await failing).to.have.property('message', 'cannot');
      expect(await waiting).to.equal(true);
      expect(t.cache.restarts).to.equal(0);
    });
  });

  it('stops waiting for the first list when the caller has disconnected', async () => {
    t.create();
    t.server.answer(nothing);
    t.cache.start();
    const goingAway = new AbortController();
    const waiting = failureOf(t.cache.whenSynced(goingAway.signal));
    goingAway.abort(new Error('gone'));

    expect(await waiting).to.equal(goingAway.signal.reason);
  });

  it('reports its age, restarts and size', async () => {
    let now = 0;
    t.create();
    t.cache = new WatchCache<string>(
      { client: t.client.asService, log: silentLog, metrics: t.metrics, times, clock: () => now },
      { name: 'others', type: things, keep: ({ data }) => String(data) },
    );
    now = 5000;
    expect(t.cache.ageSeconds()).to.equal(5);
    t.cache.start();
    await t.cache.whenSynced();
    await until(() => t.resource.watchers === 1 && t.cache.ageSeconds() === 0);
    now = 12_000;
    const text = await t.metrics.registry.metrics();

    expect(text).to.include('atrium_watch_age_seconds{watch="others"} 7');
    expect(text).to.include('atrium_watch_restarts_total{watch="others"} 0');
    expect(text).to.include('atrium_watch_objects{watch="others"} 3');
    expect(t.cache.isStale()).to.equal(false);
    now = 41_000;
    expect(t.cache.isStale()).to.equal(true);
    expect([t.cache.state, t.cache.outdated()]).to.deep.equal(['synced', 'the watch was silent for too long']);
  });

  it('reports its age once it is started', async () => {
    // The cache of the fixture has the same name and is never started. Its age would be added.
    await t.begin({ parts: { clock: () => 0 } });

    expect(await t.metrics.registry.metrics()).to.include('atrium_watch_age_seconds{watch="things"} 0\n');
  });

  it('keeps its age until a list is complete: objects that half of it lacks may have been deleted', async () => {
    let now = 0;
    await t.begin({ options: { pageSize: 2 }, parts: { clock: () => now } });
    t.resource.bookmark();
    await until(() => t.cache.resourceVersion === t.resource.version);
    const held: (() => void)[] = [];
    let page = 0;
    t.server.answer((request, response) => {
      page += 1;
      if (page === 1) t.resource.answer(request, response);
      else held.push(() => t.resource.answer(request, response));
    });
    now = 61_000;
    t.resource.detach().destroy();
    await until(() => page === 2);
    expect(t.cache.ageSeconds()).to.equal(61);

    t.server.answer(t.resource.answer);
    for (const answer of held) answer();
    await until(() => t.cache.ageSeconds() === 0);
  });
});
