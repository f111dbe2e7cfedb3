import { hash } from 'node:crypto';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import { renewalAnnotation } from '../../../src/sessions/record.ts';
import { SessionStore } from '../../../src/sessions/store.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { servicesOf } from '../../support/services.ts';
import { bareCluster, sessionManifest, sessionPath } from './support.ts';

const nameOf = (secret: string) => `s-${hash('sha256', secret)}`;
const log = createLog({ level: 'silent', format: 'json' });
const { signal } = new AbortController();
const untilListed = ({ collection: { cache } }: SessionStore) =>
  eventually(
    () => cache.missing(),
    (failure) => failure === undefined,
  );

describe('a session that the watch has not delivered', () => {
  const cluster = forSuite(() => bareCluster());
  let store: SessionStore;
  let readsBefore: number;
  beforeEach(async () => {
    const { apiServer, metrics } = cluster;
    store = new SessionStore(servicesOf(apiServer, { log, metrics }));
    store.start();
    await untilListed(store);
    // The watch delivers no more changes.
    await store.stop();
    await cluster.kubernetes.apply(sessionManifest('new', { expiration: Date.now() + 600_000 }));
    readsBefore = await readsInAll();
  });
  afterEach(() => cluster.kubernetes.call('DELETE', sessionPath('new')));

  const readsInAll = async () => {
    const text = await cluster.metrics.registry.metrics();
    return [...text.matchAll(/_count\{call="get sessions",outcome="\d+"\} (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const reads = async () => (await readsInAll()) - readsBefore;
  const find = (secret: string, source = '203.0.113.1') => store.find(nameOf(secret), source, signal);

  it('is read once for all concurrent requests', async () => {
    const rows = await Promise.all(Array.from({ length: 40 }, () => find('new')));

    expect(new Set(rows).size).to.equal(1);
    expect(rows[0]).to.include({ user: 'new' });
    expect(await find('new')).to.include({ user: 'new' });
    expect(await reads()).to.equal(1);
  });

  it('is not looked up again if it does not exist', async () => {
    for (let n = 0; n < 5; n += 1) expect(await find('none')).to.equal(undefined);

    expect(await reads()).to.equal(1);
  });

  it('is looked up sixty times a minute for each address, whatever the number of forged names', async () => {
    const rows = await Promise.all(Array.from({ length: 200 }, (_, n) => find(`made up ${n}`)));
    expect(new Set(rows)).to.deep.equal(new Set([undefined]));
    expect(await reads()).to.equal(60);

    expect(await find('new')).to.equal(undefined);
    expect(await find('new', '203.0.113.2')).to.include({ user: 'new' });
  });

  it('does not exist after it was ended here', async () => {
    const row = await find('new');
    if (row === undefined) throw new Error('it is there');
    await store.remove(row, signal);

    expect(store.get(row.name)).to.equal(undefined);
    expect((await cluster.kubernetes.call('GET', sessionPath('new'))).status).to.equal(404);
    expect(await reads()).to.equal(1);
  });

  it('is changed only with its current version', async () => {
    const row = await find('new');
    if (row === undefined) throw new Error('it is there');
    const changed = await store.patch(row, { spec: { sealed: 'y' } }, signal);

    expect(changed).to.include({ sealed: 'y' });
    expect(await store.patch(row, { spec: { sealed: 'z' } }, signal)).to.equal('conflict');
    expect(store.get(row.name)).to.include({ sealed: 'y' });
    await cluster.kubernetes.remove(sessionPath('new'));
    expect(await store.patch(row, { spec: { sealed: 'z' } }, signal)).to.equal('gone');
  });
});

describe('a renewal that is claimed', () => {
  const cluster = forSuite(() => bareCluster());
  let store: SessionStore;

  before(async () => {
    const { apiServer, metrics } = cluster;
    let looks = 0;
    const clock = () => {
      looks += 1;
      return looks;
    };
    store = new SessionStore(servicesOf(apiServer, { log, metrics, clock }));
    store.start();
    await untilListed(store);
  });
  after(async () => {
    await store?.stop();
  });

  it('expires relative to the moment at which this replica learned of it, by its own write or by the watch', async () => {
    for (let round = 0; round < 5; round += 1) {
      await cluster.kubernetes.apply(sessionManifest(`claimed ${round}`, { expiration: Date.now() + 600_000 }));
      const row = await store.find(nameOf(`claimed ${round}`), '203.0.113.1', signal);
      if (row === undefined) throw new Error('it is there');
      const claimed = await store.patch(row, { metadata: { annotations: { [renewalAnnotation]: 'id' } } }, signal);
      if (claimed === 'conflict' || claimed === 'gone') throw new Error(claimed);
      const told = await eventually(
        () => [...store.values()].find(({ name }) => name === row.name),
        (known) => known?.resourceVersion === claimed.resourceVersion,
      );

      expect(told?.renewal).to.deep.equal(claimed.renewal);
    }
  });
});
