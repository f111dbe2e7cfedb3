import { expect } from 'chai';
import { type ChainedEvent, type ChainGap, type Checkpoint, firstHash, hashOf, nothingRemoved, verifyChain } from '../../src/chain.ts';
import { matcherOf } from '../../src/conditions.ts';
import type { AuditEvent } from '../../src/event.ts';
import {
  type AuditDatabase,
  type AuditDimension,
  type AuditFilter,
  type AuditPlace,
  type AuditStore,
  chainedEvent,
} from '../../src/store.ts';
import { rowOf } from '../../src/tables.ts';
import { itKeepsRecordings } from './recordings-suite.ts';

export const anEvent = (parts: Partial<AuditEvent> = {}): AuditEvent => ({
  auditID: 'a1',
  cluster: 'local',
  source: 'door',
  verb: 'patch',
  user: { username: 'ada@example.com', uid: 'u1' },
  sourceIPs: ['192.0.2.1'],
  userAgent: 'kubectl/v1.36.0',
  objectRef: { apiGroup: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'storefront' },
  requestReceivedTimestamp: '2026-11-29T10:00:00.000Z',
  milliseconds: 12,
  outcome: 'success',
  responseStatus: { code: 200 },
  requestID: 'r1',
  changes: [{ field: 'spec.replicas', from: 2, to: 5 }],
  ...parts,
});

const at = (second: number, parts: Partial<AuditEvent> = {}) =>
  anEvent({ auditID: `e${second}`, requestReceivedTimestamp: new Date(Date.UTC(2026, 10, 29, 10, 0, second)).toISOString(), ...parts });

function aLink(chain: readonly ChainedEvent[], index: number): ChainedEvent {
  const link = chain[index];
  if (link === undefined) throw new Error(`no event ${index}`);
  return link;
}

/** Returns the chain with the hashes that a writer of the database would compute. */
function rehashed(chain: readonly ChainedEvent[]): ChainedEvent[] {
  let hash = firstHash;
  return chain.map(({ sequence, event }) => {
    hash = hashOf(hash, sequence, event);
    return { sequence, hash, event };
  });
}

/** An empty database of a test. */
export interface TestDatabase {
  /** Opens the store, which the test stops. */
  open(segmentSize?: number): Promise<AuditDatabase>;
  remove(): Promise<unknown>;
}

/** Tests of a store that hold on each database. */
export function itIsAnAuditStore(makeDatabase: () => Promise<TestDatabase>): void {
  let database: TestDatabase;
  let store: AuditDatabase;
  beforeEach(async () => {
    database = await makeDatabase();
    store = await database.open();
  });
  afterEach(async () => {
    await store.stop();
    await database.remove();
  });
  itKeepsRecordings(() => store);
  const ids = async (...list: Parameters<AuditStore['list']>) => (await store.list(...list)).events.map(({ auditID }) => auditID);

  it('returns an event as it was appended, also after a new start', async () => {
    const core = anEvent({ auditID: 'a2', user: { username: 'bob' }, objectRef: { apiGroup: '', resource: 'nodes' }, session: 's1' });
    const ofService: AuditEvent = {
      ...{ auditID: 'a3', cluster: 'local', source: 'service', event: 'AccessEnded', verb: 'update', sourceIPs: [], outcome: 'success' },
      objectRef: { apiGroup: 'auth.platform.io', resource: 'accessrequests', name: 'r1' },
      requestReceivedTimestamp: anEvent().requestReceivedTimestamp,
      access: { requester: 'bob', policy: 'shop', role: 'ClusterRole/edit', namespaces: ['shop'] },
      reason: 'Expired',
    };
    await store.append([anEvent(), core, ofService]);
    await store.stop();
    store = await database.open();
    expect(await store.list({}, { limit: 10 })).to.deep.equal({ events: [ofService, core, anEvent()], last: undefined, newest: 3 });
  });

  it('keeps an event once that is appended twice', async () => {
    await store.append([at(1)]);
    await store.append([at(1), at(2)]);
    expect(await ids({}, { limit: 10 })).to.deep.equal(['e2', 'e1']);
  });

  it('pages newest first by time, whatever order they came in, and leaves none out at equal times', async () => {
    await store.append([at(3), at(1), at(2), ...['x', 'y', 'z'].map((auditID) => at(2, { auditID }))]);
    const pages: string[][] = [];
    let before: AuditPlace | undefined;
    do {
      const page = await store.list({}, { limit: 2, before });
      pages.push(page.events.map(({ auditID }) => auditID));
      before = page.last;
    } while (before !== undefined);
    expect(pages).to.deep.equal([
      ['e3', 'z'],
      ['y', 'x'],
      ['e2', 'e1'],
    ]);
  });

  it('finds events by each filter, and by all of them together', async () => {
    const other = at(2, {
      cluster: 'east',
      verb: 'delete',
      user: { username: 'noa' },
      objectRef: { apiGroup: '', resource: 'pods', namespace: 'payments', name: 'db-0' },
      source: 'service',
      event: 'AccessRefused',
      access: { requester: 'jo', policy: 'shop', role: 'ClusterRole/edit' },
      outcome: 'failure',
      responseStatus: { code: 403 },
      session: 's2',
      requestID: 'r2',
    });
    await store.append([at(1), other]);
    const filters = {
      ...({ requester: 'jo', source: 'service', event: 'AccessRefused' } as const),
      ...{ cluster: 'east', actor: 'noa', verb: 'delete', apiGroup: '', resource: 'pods', namespace: 'payments', name: 'db-0' },
      ...({ session: 's2', requestID: 'r2', outcome: 'failure', from: Date.UTC(2026, 10, 29, 10, 0, 2) } as const),
    };
    for (const [name, value] of Object.entries(filters)) expect(await ids({ [name]: value }, { limit: 9 }), name).to.deep.equal(['e2']);
    expect(await ids(filters, { limit: 9 })).to.deep.equal(['e2']);
    expect(await ids({ auditID: 'e2' }, { limit: 9 })).to.deep.equal(['e2']);
    expect(await ids({ anyOf: [{ actor: 'noa' }, { verb: 'patch', name: 'storefront' }] }, { limit: 9 })).to.deep.equal(['e2', 'e1']);
    expect(await ids({ verb: 'delete', anyOf: [{ requester: 'jo' }, { name: 'storefront' }] }, { limit: 9 })).to.deep.equal(['e2']);
    expect(await ids({ anyOf: [{ verb: 'patch', actor: 'noa' }, { name: 'none' }] }, { limit: 9 })).to.deep.equal([]);
    expect(await ids({ to: filters.from }, { limit: 9 })).to.deep.equal(['e1']);
    expect(await ids({ outcome: 'success' }, { limit: 9 })).to.deep.equal(['e1']);
  });

  it('finds events by access token, group of the user and subresource, also in the index', async () => {
    const user = { username: 'noa', groups: ['on-call', 'system:masters'] };
    const objectRef = { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'db-0' };
    const other = at(2, { accessToken: 'at-"1"', user, objectRef });
    await store.append([at(1), other]);
    const expectOther = async () => {
      for (const filter of [
        { accessToken: 'at-"1"' },
        { actorGroup: 'on-call' },
        { actorGroup: 'system:masters' },
        { subresource: 'exec' },
      ]) {
        expect((await store.list(filter, { limit: 9 })).events, JSON.stringify(filter)).to.deep.equal([other]);
        expect((await store.count({ ...filter, actor: 'noa' }, 'verb')).total).to.equal(1);
        expect(await ids({ ...filter, actor: 'ada@example.com' }, { limit: 9 })).to.deep.equal([]);
      }
      expect(await ids({ accessToken: 'at-1' }, { limit: 9 })).to.deep.equal([]);
      expect(await ids({ actorGroup: 'ON-CALL' }, { limit: 9 })).to.deep.equal([]);
    };
    await expectOther();
    await store.stop();
    store = await database.open(2);
    await expectOther();
  });

  it('finds events by words, whole and in any case, in names, actions, reasons, roles and commands alone', async () => {
    const objectRef = { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'Zürich', name: 'storefront-7d9f' };
    const shell = at(2, { objectRef, connection: { container: 'app', command: ['psql', '-c', 'select 1'] }, session: 's-secret' });
    const decided = at(3, {
      ...({ source: 'service', event: 'AccessDecided', reason: 'Approved' } as const),
      access: { requester: 'noa@example.com', policy: 'on-call', role: 'ClusterRole/edit' },
    });
    await store.append([at(1), shell, decided, at(4, { userAgent: 'psql', requestID: 'psql' })]);
    const found: Record<string, string[]> = {
      psql: ['e2'],
      'PSQL Storefront': ['e2'],
      'storefront-7d9f': ['e2'],
      storefront: ['e4', 'e3', 'e2', 'e1'],
      store: [],
      zürich: ['e2'],
      ZÜRICH: ['e2'],
      'noa clusterrole/edit': ['e3'],
      'approved on-call': ['e3'],
      secret: [],
      '192': [],
    };
    const expectFound = async () => {
      for (const [text, expected] of Object.entries(found)) expect(await ids({ text }, { limit: 9 }), text).to.deep.equal(expected);
      expect(await ids({ text: 'storefront', verb: 'patch', from: Date.UTC(2026, 10, 29, 10, 0, 3) }, { limit: 9 })).to.deep.equal([
        'e4',
        'e3',
      ]);
      expect((await store.count({ text: 'storefront' }, 'verb')).total).to.equal(4);
    };
    await expectFound();
    await store.stop();
    store = await database.open(4);
    await expectFound();
  });

  it('finds events by words and names with signs that languages and databases treat differently, also in the index', async () => {
    const by = (username: string) => ({ user: { username } });
    await store.append([
      at(1, { reason: '273 \u{212a}ELVIN, ISTANBUL' }),
      at(2, { reason: '\u{130}ZMIR' }),
      at(3, by('a_b%c@example.com')),
      at(4, by('axbyc@example.com')),
      at(5, by('say "hi" \\o/@example.com')),
    ]);
    const found: [AuditFilter, string[]][] = [
      [{ text: '273 kelvin' }, ['e1']],
      [{ text: 'istanbul' }, ['e1']],
      [{ text: '\u{130}zmir' }, ['e2']],
      [{ involvedUser: 'a_b%c@example.com' }, ['e3']],
      [{ involvedUser: 'say "hi" \\o/@example.com' }, ['e5']],
      [{ involvedUser: '@example.com' }, []],
    ];
    const expectFound = async () => {
      for (const [filter, expected] of found) expect(await ids(filter, { limit: 9 }), JSON.stringify(filter)).to.deep.equal(expected);
    };
    await expectFound();
    await store.stop();
    store = await database.open(4);
    await expectFound();
  });

  it('finds an event by each of the users that it names', async () => {
    const users = Array.from({ length: 16 }, (_, index) => `first${index}.middle${index}.last${index}.of${index}@example.com`);
    const grant = { role: 'ClusterRole/edit', subjects: users.map((user) => `User/${user}`) };
    await store.append([at(1, { grant }), at(2), at(3), at(4)]);
    await store.stop();
    store = await database.open(4);
    await store.append([at(5)]);
    for (const involvedUser of users) expect(await ids({ involvedUser }, { limit: 9 }), involvedUser).to.deep.equal(['e1']);
  });

  it('finds events by a user or record that they involve, also in the index and in one of several conditions', async () => {
    const byService = { source: 'service', user: { username: 'jo' } } as const;
    const ofUsers = { apiGroup: 'auth.platform.io', resource: 'users' };
    const group = { apiGroup: 'auth.platform.io', resource: 'groups', subresource: 'members', name: 'dev' };
    await store.append([
      at(1),
      at(2, { user: { username: 'jo' }, impersonatedUser: { username: 'ada@example.com' } }),
      at(3, { ...byService, access: { requester: 'ada@example.com', policy: 'shop', role: 'ClusterRole/edit' } }),
      at(4, { ...byService, grant: { role: 'ClusterRole/edit', subjects: ['Group/dev', 'User/ada@example.com'] } }),
      at(5, { ...byService, shell: { user: 'ada@example.com', pod: 'db-0' } }),
      at(6, { ...byService, verb: 'impersonate', objectRef: { ...ofUsers, name: 'ada@example.com' } }),
      at(7, { ...byService, objectRef: { ...ofUsers, subresource: 'factors', name: 'r-ada' } }),
      at(8, { ...byService, objectRef: group, members: { added: 1, removed: 0, names: ['r-noa', 'r-ada'] } }),
      at(9, { ...byService, grant: { role: 'ClusterRole/edit', subjects: ['User/r-ada'] } }),
      // Others have the words, and not the name.
      at(11, { user: { username: 'ada@other.example.com' } }),
      at(12, { ...byService, grant: { role: 'ClusterRole/edit', subjects: ['Group/ada@example.com', 'Group/r-ada'] } }),
      at(13, { ...byService, verb: 'delete', objectRef: { ...ofUsers, name: 'ada@example.com' } }),
      at(14, { ...byService, objectRef: { apiGroup: '', resource: 'users', name: 'r-ada' } }),
      at(15, { ...byService, access: { requester: 'ADA@example.com', policy: 'shop', role: 'ClusterRole/edit' } }),
    ]);
    const [involvedUser, involvedRecord] = ['ada@example.com', 'r-ada'];
    const found: [AuditFilter, string[]][] = [
      [{ involvedUser }, ['e6', 'e5', 'e4', 'e3', 'e2', 'e1']],
      [{ involvedRecord }, ['e9', 'e8', 'e7']],
      [
        { anyOf: [{ involvedUser }, { involvedRecord }, { auditID: 'e14' }] },
        ['e14', 'e9', 'e8', 'e7', 'e6', 'e5', 'e4', 'e3', 'e2', 'e1'],
      ],
      [{ actor: 'jo', from: Date.UTC(2026, 10, 29, 10, 0, 3), anyOf: [{ involvedUser, source: 'service' }] }, ['e6', 'e5', 'e4', 'e3']],
      [{ anyOf: [{ involvedRecord, resource: 'groups' }, { actor: 'ada@other.example.com' }] }, ['e11', 'e8']],
      [{ involvedUser: '-' }, []],
    ];
    const expectFound = async () => {
      for (const [filter, expected] of found) {
        expect(await ids(filter, { limit: 20 }), JSON.stringify(filter)).to.deep.equal(expected);
        expect((await store.count(filter, 'verb')).total, JSON.stringify(filter)).to.equal(expected.length);
      }
    };
    await expectFound();
    await store.stop();
    store = await database.open(4);
    await expectFound();
  });

  it('counts events by hour, user, verb and object, and their failures', async () => {
    const pod = { apiGroup: '', resource: 'pods', namespace: 'payments', name: 'db-0' };
    await store.append([
      at(1),
      at(2, { user: { username: 'noa' }, verb: 'delete', objectRef: pod, outcome: 'failure', responseStatus: { code: 403 } }),
      at(3, { user: { username: 'noa' }, verb: 'delete', objectRef: pod, accessToken: '4k2vqx7m5cabdefg', userAgent: '"accessToken":"' }),
      at(3_600, { userAgent: '"accessToken":"x' }),
    ]);
    const hour = (hours: number) => Date.UTC(2026, 10, 29, hours);
    const counted = async (by: AuditDimension, filter: AuditFilter = {}) => {
      const { counts, ...others } = await store.count(filter, by);
      return [counts, others];
    };
    expect(await counted('hour')).to.deep.equal([
      [
        { hour: hour(11), count: 1, failures: 0 },
        { hour: hour(10), count: 3, failures: 1 },
      ],
      { total: 4 },
    ]);
    expect(await counted('actor', { to: hour(11) })).to.deep.equal([
      [
        { actor: 'noa', count: 2, failures: 1, withToken: 1 },
        { actor: 'ada@example.com', count: 1, failures: 0, withToken: 0 },
      ],
      { total: 3 },
    ]);
    expect(await counted('verb', { actor: 'noa' })).to.deep.equal([[{ verb: 'delete', count: 2, failures: 1 }], { total: 2 }]);
    expect((await store.count({ outcome: 'failure' }, 'object')).counts).to.deep.equal([{ object: pod, count: 1, failures: 1 }]);
    expect(await counted('actor', { actor: 'nobody' })).to.deep.equal([[], { total: 0 }]);
  });

  describe('with an index of small segments', () => {
    const users = ['ada', 'noa', 'jo'];
    const namespaces = ['shop', 'payments', ''];
    const verbs = ['patch', 'delete'];
    /** Events that arrive late, at equal times, and in every combination of values. */
    const events = Array.from({ length: 150 }, (_, index) =>
      at(index - ((index * 7) % 31), {
        auditID: `n${index}`,
        user: { username: users[index % 3] ?? '' },
        verb: verbs[(index >> 2) % 2] ?? '',
        objectRef: { apiGroup: '', resource: 'pods', namespace: namespaces[(index >> 3) % 3] ?? '', name: `pod-${index % 40}` },
        outcome: index % 5 === 0 ? 'failure' : 'success',
        ...(index % 4 === 0 && { accessToken: `token-${index % 3}` }),
      }),
    );
    const order = new Map(events.map(({ auditID }, index) => [auditID, index]));
    const timeOf = ({ requestReceivedTimestamp }: AuditEvent) => Date.parse(requestReceivedTimestamp);
    const has = (
      event: AuditEvent,
      { actor, involvedUser = actor, verb, namespace, name, outcome, accessToken, from, to, anyOf = [{}] }: AuditFilter,
    ): boolean =>
      (anyOf.length === 1 || anyOf.some((one) => has(event, one))) &&
      [
        [actor, event.user?.username],
        [involvedUser, event.user?.username],
        [verb, event.verb],
        [namespace, event.objectRef.namespace],
        [name, event.objectRef.name],
        [outcome, event.outcome],
        [accessToken, event.accessToken],
      ].every(([asked, value]) => asked === undefined || asked === value) &&
      timeOf(event) >= (from ?? 0) &&
      timeOf(event) < (to ?? Number.POSITIVE_INFINITY);
    const expected = (kept: readonly AuditEvent[], filter: AuditFilter) =>
      kept
        .filter((event) => has(event, filter))
        .toSorted((one, other) => timeOf(other) - timeOf(one) || (order.get(other.auditID) ?? 0) - (order.get(one.auditID) ?? 0));
    const start = Date.UTC(2026, 10, 29, 10);
    const filters: AuditFilter[] = [
      ...users.flatMap((actor) => [{ actor }, ...verbs.map((verb) => ({ actor, verb })), { actor, name: 'pod-7' }]),
      ...namespaces.map((namespace) => ({ namespace, outcome: 'failure' }) as const),
      { actor: 'ada', from: start + 20_000, to: start + 90_000 },
      { verb: 'patch', namespace: 'shop', actor: 'noa', outcome: 'success', to: start + 60_000 },
      { outcome: 'failure', anyOf: [{ actor: 'ada', verb: 'patch' }, { name: 'pod-7' }, { actor: 'nobody' }] },
      { anyOf: [{ actor: 'ada' }, { namespace: 'shop', from: start + 50_000 }, { actor: 'ada', name: 'pod-3' }] },
      { name: 'pod-3', actor: 'nobody' },
      { actor: 'nobody' },
      { accessToken: 'token-1' },
      { accessToken: 'token-2', verb: 'delete', anyOf: [{ actor: 'ada' }, { name: 'pod-8' }] },
      { verb: 'patch', anyOf: [{ involvedUser: 'ada' }, { name: 'pod-8' }, { involvedUser: 'noa', namespace: 'shop' }] },
    ];
    async function expectAll(kept: readonly AuditEvent[], asked = filters, limit = 4): Promise<void> {
      for (const filter of asked) {
        const told = JSON.stringify(filter);
        const found: string[] = [];
        let before: AuditPlace | undefined;
        do {
          const page: Awaited<ReturnType<AuditStore['list']>> = await store.list(filter, { limit, before });
          expect(page.events.length, told).to.be.at.most(limit);
          found.push(...page.events.map(({ auditID }) => auditID));
          before = page.last;
        } while (before !== undefined);
        const all = expected(kept, filter);
        expect(kept.filter((event) => matcherOf(filter)(rowOf(event))).length, told).to.equal(all.length);
        expect(found, told).to.deep.equal(all.map(({ auditID }) => auditID));
        const { counts, total } = await store.count(filter, 'verb');
        expect(total, told).to.equal(all.length);
        expect(
          counts.reduce((sum, { failures }) => sum + failures, 0),
          told,
        ).to.equal(all.filter(({ outcome }) => outcome === 'failure').length);
      }
    }
    const openSmall = async (segmentSize = 16) => {
      await store.stop();
      store = await database.open(segmentSize);
    };

    it('finds and counts the same events as a look at each', async () => {
      await openSmall();
      for (let index = 0; index < events.length; index += 23) await store.append(events.slice(index, index + 23));
      await expectAll(events);
    });

    // Segments of 2 events make two groups of 64 events, of 4 events one group of 128.
    for (const segmentSize of [2, 4])
      it(`finds the same events in groups of segments of ${segmentSize} events, and after removals`, async () => {
        await openSmall(segmentSize);
        for (let index = 0; index < events.length; index += 37) {
          await store.append(events.slice(index, index + 37));
          await expectAll(events.slice(0, index + 37), filters.slice(-8));
        }
        for (const removed of [40, 63, 64, 130]) {
          await store.remove(removed);
          await expectAll(events.slice(removed));
        }
        await store.append(events.map((event) => ({ ...event, auditID: `${event.auditID}-again` })));
        const again = events.filter((event) => has(event, { actor: 'ada', verb: 'patch' })).length;
        const kept = expected(events.slice(130), { actor: 'ada', verb: 'patch' }).length;
        expect((await store.count({ actor: 'ada', verb: 'patch' }, 'verb')).total).to.equal(again + kept);
      });

    it('finds events from before the index', async () => {
      await store.append(events);
      await openSmall();
      await indexed();
      await expectAll(events);
    });

    /** Resolves when all segments are made. */
    const indexed = async () => {
      let left = -1;
      while (left !== 0) ({ left } = await store.indexing());
    };

    it('takes and finds events while it makes the segments that an update has removed', async () => {
      await store.append(events.slice(0, 140));
      await openSmall();
      await store.append(events.slice(140));
      await expectAll(events);
      await indexed();
      await expectAll(events);
    });

    it('finds the same events among more than a statement reads', async () => {
      // The segment would be larger than the number of events.
      await store.stop();
      store = await database.open(1_000_000);
      const many = Array.from({ length: 17_000 }, (_, index) => at(-17_000 + index, { auditID: `m${index}`, user: { username: 'many' } }));
      await store.append(many);
      await store.append(events);
      for (const filter of filters)
        expect(await ids(filter, { limit: 200 }), JSON.stringify(filter)).to.deep.equal(
          expected(events, filter).map(({ auditID }) => auditID),
        );
      expect(await ids({ actor: 'many', name: 'storefront' }, { limit: 2 })).to.deep.equal(['m16999', 'm16998']);
      expect(await ids({ actor: 'many', to: timeOf(many[2] ?? at(0)) }, { limit: 5 })).to.deep.equal(['m1', 'm0']);
      expect((await store.count({ actor: 'many' }, 'verb')).total).to.equal(17_000);
    });

    it('finds the same events while their segments are merged', async () => {
      await openSmall(2);
      await store.append(events);
      let isAppending = true;
      const appended = (async () => {
        for (let batch = 0; batch < 8; batch += 1)
          await store.append(
            Array.from({ length: 40 }, (_, index) => at(200, { auditID: `b${batch}-${index}`, user: { username: 'bea' } })),
          );
      })().finally(() => {
        isAppending = false;
      });
      const all = expected(events, { actor: 'ada', verb: 'patch' }).map(({ auditID }) => auditID);
      do expect(await ids({ actor: 'ada', verb: 'patch' }, { limit: 200 })).to.deep.equal(all);
      while (isAppending);
      await appended;
    });

    it('finds the same events as a look at each among random ones, while the oldest are removed', async () => {
      // A fixed seed gives the same events in each run.
      let seed = 43;
      const random = (bound: number) => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return Math.floor((seed / 2_147_483_648) * bound);
      };
      await openSmall(8);
      const kept: AuditEvent[] = [];
      for (let round = 0; round < 12; round += 1) {
        const added = Array.from({ length: 60 + random(80) }, (_, index) => {
          const auditID = `r${round}-${index}`;
          order.set(auditID, order.size);
          const second = round * 100 + random(140);
          return at(second, {
            auditID,
            user: { username: random(60) === 0 ? 'rare' : (users[random(3)] ?? '') },
            verb: verbs[random(2)] ?? '',
            objectRef: { apiGroup: '', resource: 'pods', namespace: namespaces[random(3)] ?? '', name: `pod-${random(40)}` },
            outcome: random(5) === 0 ? 'failure' : 'success',
            ...(random(4) === 0 && { accessToken: `token-${random(3)}` }),
          });
        });
        await store.append(added);
        kept.push(...added);
        if (round % 3 === 2) {
          const last = (await store.chain(0, 1)).events[0]?.sequence ?? 0;
          const removed = random(kept.length - 100);
          await store.remove(last + removed - 1);
          kept.splice(0, removed);
        }
        await expectAll(
          kept,
          [{ actor: 'rare' }, { actor: 'rare', verb: 'patch' }, { actor: 'rare', name: 'pod-3' }, ...filters.slice(-6)],
          50,
        );
      }
    });

    it('finds no removed events', async () => {
      await openSmall();
      await store.append(events);
      await store.remove(40);
      await expectAll(events.slice(40));
      await store.append([at(200)]);
      expect(await ids({ actor: 'ada@example.com' }, { limit: 9 })).to.deep.equal(['e200']);
    });
  });

  it('takes texts with quotes, line breaks, NUL, backslashes and halves of surrogate pairs as they are', async () => {
    const hostile = [`'; DROP TABLE events; --\n"`, 'a\u0000b', '\\u0000', '\\', '\ud83d', '\ud83d\ude00'];
    await store.append(
      hostile.map((text, index) => at(index, { userAgent: text, user: { username: text }, objectRef: { apiGroup: text, resource: text } })),
    );
    for (const [index, text] of hostile.entries()) {
      const { events } = await store.list({ actor: text, resource: text }, { limit: 10 });
      expect(events).to.deep.equal([
        at(index, { userAgent: text, user: { username: text }, objectRef: { apiGroup: text, resource: text } }),
      ]);
    }
  });

  it('keeps all events of batches that arrive at the same time', async () => {
    const batches = Array.from({ length: 8 }, (_, batch) => Array.from({ length: 30 }, (__, index) => at(batch * 30 + index)));
    await Promise.all([...batches, ...batches].map((batch) => store.append(batch)));
    expect((await ids({}, { limit: 1000 })).toSorted()).to.deep.equal(
      batches
        .flat()
        .map(({ auditID }) => auditID)
        .toSorted(),
    );
  });

  describe('and its chain', () => {
    const all = async () => (await store.chain(0, 1_000)).events;
    const newest = async () => ({ sequence: (await store.chain(0, 1)).newest ?? 0 });
    const known = (made: Checkpoint | undefined) => {
      if (made === undefined) throw new Error('no checkpoint was proposed');
      return made;
    };
    const checkpointNow = async (...kept: Checkpoint[]) => known((await store.propose(kept.map(({ sequence }) => sequence))).end);
    const events = (from: number, through: number) => Array.from({ length: through - from + 1 }, (_, index) => at(from + index));

    it('verifies events as they were taken in, also those with hostile texts', async () => {
      await store.append([...events(1, 4), at(5, { userAgent: '\\u0000\u0000\ud83d' })]);
      const made = await checkpointNow();
      expect(made).to.include({ sequence: 5, count: 5 });
      await store.append([at(6)]);
      await checkpointNow(made);
      expect(await newest()).to.deep.equal({ sequence: 5 });
      expect(await verifyChain(await all(), [made], await newest())).to.deep.equal({
        verified: 6,
        gap: undefined,
      });
    });

    it('verifies an export line by line', async () => {
      await store.append(events(1, 3));
      const lines = (await all()).map((line) => JSON.stringify(line));
      const read = lines.map((line) => chainedEvent.parse(JSON.parse(line)));
      expect(await verifyChain(read, [])).to.deep.equal({ verified: 3, gap: undefined });
    });

    const tampered: Record<string, [tamper: (chain: ChainedEvent[]) => ChainedEvent[], gap: ChainGap]> = {
      changed: [
        (chain) => chain.with(2, { ...aLink(chain, 2), event: { ...aLink(chain, 2).event, verb: 'get' } }),
        { sequence: 3, reason: 'changed' },
      ],
      deleted: [(chain) => chain.toSpliced(2, 1), { sequence: 3, reason: 'missing' }],
      'deleted at the begin': [(chain) => chain.slice(2), { sequence: 1, reason: 'missing' }],
      inserted: [(chain) => chain.toSpliced(3, 0, aLink(chain, 2)), { sequence: 3, reason: 'unexpected' }],
      reordered: [(chain) => chain.with(2, aLink(chain, 3)).with(3, aLink(chain, 2)), { sequence: 3, reason: 'missing' }],
      'cut off at the end': [(chain) => chain.slice(0, 4), { sequence: 5, reason: 'cut off' }],
      'changed with new hashes': [
        (chain) => rehashed(chain.with(1, { ...aLink(chain, 1), event: { ...aLink(chain, 1).event, verb: 'get' } })),
        { sequence: 5, reason: 'changed' },
      ],
    };
    for (const [what, [tamper, gap]] of Object.entries(tampered))
      it(`finds events that were ${what}`, async () => {
        await store.append(events(1, 5));
        const made = await checkpointNow();
        await store.append([at(6)]);
        expect((await verifyChain(tamper(await all()), [made])).gap).to.deep.equal(gap);
      });

    it('finds a checkpoint that was rolled back', async () => {
      await store.append(events(1, 3));
      const old = await checkpointNow();
      await store.append(events(4, 5));
      await checkpointNow(await checkpointNow(old));
      expect(await verifyChain(await all(), [old], await newest())).to.deep.equal({
        verified: 5,
        gap: { sequence: 4, reason: 'rolled back' },
      });
      await checkpointNow(old);
      expect(await newest()).to.deep.equal({ sequence: 5 });
    });

    it('tells the present hash of the newest kept checkpoint, empty where its event is gone', async () => {
      await store.append(events(1, 3));
      const made = await checkpointNow();
      expect((await store.propose([3])).newest).to.deep.equal({ sequence: 3, hash: made.hash });
      expect((await store.propose([3, 9])).newest).to.deep.equal({ sequence: 9, hash: '' });
    });

    const second = (seconds: number) => Date.UTC(2026, 10, 29, 10, 0, seconds);

    it('goes on after the removal of expired events that a checkpoint allows, and is verified from there on', async () => {
      await store.append(events(1, 9));
      const before = second(5);
      const { cut: proposed, end, first, start } = await store.propose([], { before });
      const cut = known(proposed);
      expect([start, first]).to.deep.equal([0, { sequence: 1, hash: (await all())[0]?.hash }]);
      expect(cut).to.include({ sequence: 4, count: 4 });
      await store.propose([2, 4, 6]);
      expect(await store.expired({ before })).to.equal(undefined);
      expect(await store.expired({ before, removable: 3 })).to.deep.equal({ first: 1, last: 3, reason: 'Age' });
      expect(await store.expired({ before, removable: 5 })).to.deep.equal({ first: 1, last: 4, reason: 'Age' });
      expect([await store.remove(4), await store.remove(4)]).to.deep.equal([4, 0]);
      await store.append([at(10)]);
      expect(await ids({}, { limit: 99 })).to.deep.equal(['e10', 'e9', 'e8', 'e7', 'e6', 'e5']);
      expect(await store.propose([2, 4, 6])).to.include({ start: 4 });
      const allowing = { ...known(end), removed: cut };
      expect(await verifyChain(await all(), [allowing])).to.deep.equal({ verified: 6, gap: undefined });
      expect(await verifyChain(await all(), [])).to.deep.equal({ verified: 0, gap: { sequence: 1, reason: 'missing' } });
    });

    it('has a gap where its begin was deleted, though checkpoints follow', async () => {
      await store.append(events(1, 9));
      const chain = await all();
      const made = (sequence: number, removed?: number): Checkpoint => ({
        ...{ sequence, hash: aLink(chain, sequence - 1).hash, time: '2026-11-29T10:00:00Z', count: sequence },
        ...(removed !== undefined && {
          removed: removed === 0 ? nothingRemoved : { sequence: removed, hash: aLink(chain, removed - 1).hash },
        }),
      });
      const verified = (first: number, trusted: Checkpoint[]) => verifyChain(chain.slice(first - 1), trusted);
      const kept = [made(3, 0), made(6, 2), made(9, 4)];
      for (const [first, sequence] of [
        [6, 5],
        [7, 5],
      ] as const)
        expect((await verified(first, kept)).gap, `from ${first}`).to.deep.equal({ sequence, reason: 'missing' });
      expect((await verified(4, [made(3, 0), made(9, 0)])).gap).to.deep.equal({ sequence: 1, reason: 'missing' });
      // The removal through event 4 has not begun, has left events, or is finished.
      expect([await verified(1, kept), await verified(3, kept), await verified(5, kept)]).to.deep.equal(
        [9, 6, 5].map((count) => ({ verified: count, gap: undefined })),
      );
      const forged = rehashed(chain.with(3, { ...aLink(chain, 3), event: { ...aLink(chain, 3).event, verb: 'get' } }));
      expect((await verifyChain(forged.slice(2), kept)).gap).to.deep.equal({ sequence: 4, reason: 'changed' });
      // Checkpoints of earlier versions tell no removal.
      expect((await verified(4, [made(3), made(9)])).gap).to.equal(undefined);
      expect((await verified(5, [made(3), made(9)])).gap).to.deep.equal({ sequence: 1, reason: 'missing' });
      expect((await verified(4, [made(3), made(6), made(9, 0)])).gap).to.deep.equal({ sequence: 1, reason: 'missing' });
    });

    it('keeps the event of the newest checkpoint, by which it agrees with the checkpoints outside', async () => {
      await store.append(events(1, 9));
      await store.propose([5]);
      expect(await store.expired({ maxEvents: 2, removable: 9 })).to.deep.equal({ first: 1, last: 4, reason: 'Number' });
      const { cut, newest } = await store.propose([5], { maxEvents: 2 });
      expect([cut?.sequence, newest?.sequence]).to.deep.equal([7, 5]);
      await store.propose([5, 7, 9]);
      expect(await store.expired({ maxEvents: 2, removable: 9 })).to.include({ last: 7 });
    });

    it('keeps a single expired event, whose place the event of its removal would take', async () => {
      await store.append(events(1, 9));
      await store.propose([9]);
      for (const [maxEvents, last] of [
        [8, undefined],
        [7, 2],
      ] as const) {
        expect((await store.propose([9], { maxEvents })).cut?.sequence).to.equal(last);
        expect((await store.expired({ maxEvents, removable: 9 }))?.last).to.equal(last);
      }
      expect(await store.expired({ maxEvents: 2, removable: 1 })).to.equal(undefined);
    });

    it('keeps the newest event when all have expired, so that numbers go on', async () => {
      await store.append(events(1, 3));
      expect((await store.propose([], { before: Date.UTC(2030, 0, 1) })).cut).to.include({ sequence: 2 });
      await store.propose([2]);
      expect(await store.remove(1_000)).to.equal(2);
      expect((await store.propose([2], { before: Date.UTC(2030, 0, 1) })).cut).to.equal(undefined);
      await store.append([at(4)]);
      expect((await all()).map(({ sequence }) => sequence)).to.deep.equal([3, 4]);
    });

    it('proposes to remove events by age or number, whichever are more, and none that arrived after one that stays', async () => {
      const cutOf = async (bounds: Parameters<AuditDatabase['expired']>[0]) => (await store.propose([], bounds)).cut?.sequence;
      await store.append([at(0), at(1), at(9), at(2), at(10), ...events(11, 15)]);
      expect(await cutOf({ before: second(5) })).to.equal(2);
      expect(await cutOf({ maxEvents: 10 })).to.equal(undefined);
      expect(await cutOf({ maxEvents: 4, before: second(5) })).to.equal(6);
      expect(await cutOf({ maxEvents: 8, before: second(13) })).to.equal(7);
    });

    it('has no checkpoint without events', async () => {
      expect(await store.propose([], { maxEvents: 1 })).to.deep.equal({ start: 0 });
      expect(await store.expired({ before: Date.now() })).to.equal(undefined);
      expect(await store.chain(0, 10)).to.deep.equal({ events: [] });
    });
  });

  describe('with events of the API server', () => {
    const told = (second: number, doorID: string | undefined, parts: Partial<AuditEvent> = {}) => ({
      event: at(second, { auditID: `k${second}`, source: 'kube-apiserver', ...parts }),
      doorID,
    });

    it('keeps an act that the door told, too, as the event of the door', async () => {
      await store.append([at(1)]);
      expect(await store.join([told(2, 'e1')])).to.deep.equal({ appended: 0, joined: 1, waiting: 0 });
      expect(await store.join([told(2, 'e1')])).to.deep.equal({ appended: 0, joined: 0, waiting: 0 });
      expect(await ids({}, { limit: 9 })).to.deep.equal(['e1']);
    });

    it('keeps a request past the doors as an event of its own, and a repeated batch once', async () => {
      for (const appended of [1, 0]) expect(await store.join([told(2, undefined)])).to.include({ appended });
      expect(await ids({ source: 'kube-apiserver' }, { limit: 9 })).to.deep.equal(['k2']);
      expect(await verifyChain((await store.chain(0, 99)).events, [])).to.deep.equal({ verified: 1, gap: undefined });
    });

    it('joins an event that comes before that of the door once the door tells it', async () => {
      expect(await store.join([told(2, 'e1')])).to.deep.equal({ appended: 0, joined: 0, waiting: 1 });
      expect(await store.join([told(2, 'e1')])).to.include({ appended: 0 });
      await store.append([at(1)]);
      expect(await store.settle(-1)).to.equal(0);
      expect(await store.join([told(2, 'e1')])).to.include({ appended: 0, joined: 0 });
      expect(await ids({}, { limit: 9 })).to.deep.equal(['e1']);
    });

    it('keeps an event whose door stays silent, after a while', async () => {
      await store.join([told(2, 'e1')]);
      expect(await store.settle(60_000)).to.equal(0);
      expect(await store.settle(-1)).to.equal(1);
      expect(await store.join([told(2, 'e1')])).to.deep.equal({ appended: 0, joined: 0, waiting: 0 });
      expect(await ids({}, { limit: 9 })).to.deep.equal(['k2']);
    });

    it('appends all events whose doors stay silent, however many they are', async () => {
      const unknown = Array.from({ length: 1_201 }, (_, index) => told(1, `none-${index}`, { auditID: `k${index}` }));
      await store.join(unknown);
      expect(await store.settle(-1)).to.equal(1_201);
      expect(await store.settle(-1)).to.equal(0);
    });

    it('appends events at once while too many wait, and a repeated batch once', async () => {
      const batch = (from: number, size: number) =>
        Array.from({ length: size }, (_, index) => told(1, `none-${from + index}`, { auditID: `k${from + index}` }));
      expect(await store.join(batch(0, 9_900))).to.deep.equal({ appended: 0, joined: 0, waiting: 9_900 });
      const next = batch(9_900, 250);
      expect(await store.join(next)).to.deep.equal({ appended: 150, joined: 0, waiting: 100 });
      expect(await store.join(next)).to.include({ appended: 0, joined: 0 });
      expect((await store.list({}, { limit: 500 })).events).to.have.length(150);
      // An event of the door that comes later is one beside them.
      await store.append([at(1, { auditID: 'none-10100' })]);
      expect(await store.settle(-1)).to.equal(10_000);
    });

    it('joins one event with that of a door: a sender past the door may choose its id again', async () => {
      await store.append([at(1)]);
      await store.join([told(2, 'e1'), told(3, 'e1')]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['k3', 'e1']);
    });

    const pods = { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'cart-0' };
    const others: Record<string, Partial<AuditEvent>> = {
      'another verb': { verb: 'delete' },
      'another user': { user: { username: 'noa' } },
      'another user as whom it is done': { impersonatedUser: { username: 'noa' } },
      'another object': { objectRef: { ...anEvent().objectRef, name: 'cart' } },
      'another namespace': { objectRef: { ...anEvent().objectRef, namespace: 'payments' } },
      'another resource': { objectRef: pods },
      'an effect': { dryRun: true },
      'another outcome': { outcome: 'failure' },
      'a much later time': { requestReceivedTimestamp: '2026-11-29T10:06:00.000Z' },
    };
    for (const [what, parts] of Object.entries(others))
      it(`joins no event with ${what}`, async () => {
        await store.append([at(1)]);
        await store.join([told(2, 'e1', parts)]);
        expect((await store.list({}, { limit: 9 })).events).to.have.length(2);
      });

    it('joins no event with another command, and one with the same', async () => {
      const connection = { container: 'app', command: ['ls'], tty: true as const };
      await store.append([at(1, { objectRef: pods, connection, stage: 'ResponseStarted' })]);
      await store.join([told(2, 'e1', { objectRef: pods, connection: { ...connection, command: ['rm'] } })]);
      await store.join([told(3, 'e1', { objectRef: pods, connection })]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['k2', 'e1']);
    });

    it('joins an event of a generated name, and one that the API server names by its namespace', async () => {
      const { name: _name, ...unnamed } = anEvent().objectRef;
      const namespaces = { apiGroup: '', resource: 'namespaces', name: 'shop' };
      await store.append([at(1, { verb: 'create' }), at(2, { objectRef: namespaces })]);
      await store.join([
        told(3, 'e1', { verb: 'create', objectRef: unnamed }),
        told(4, 'e2', { objectRef: { ...namespaces, namespace: 'shop' } }),
      ]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['e2', 'e1']);
    });

    it('joins a request as another user, also where the account of the service impersonates', async () => {
      const impersonatedUser = { username: 'bob' };
      await store.append([at(1, { impersonatedUser })]);
      const user = { username: 'system:serviceaccount:atrium-system:atrium' };
      expect(await store.join([told(2, 'e1', { user, impersonatedUser })])).to.include({ joined: 1 });
    });

    const { name: _name, namespace: _namespace, ...ofCluster } = anEvent().objectRef;
    const { name: _one, ...ofNamespace } = anEvent().objectRef;

    it('joins an event of a refused creation, whose name the door does not know', async () => {
      await store.append([at(1, { verb: 'create', outcome: 'failure', objectRef: ofNamespace })]);
      await store.join([told(2, 'e1', { verb: 'create', outcome: 'failure' })]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['e1']);
    });

    const unlike: Record<string, [door: Partial<AuditEvent>, told: Partial<AuditEvent>]> = {
      'without a name, if none is generated': [{ verb: 'patch' }, { verb: 'patch', objectRef: ofNamespace }],
      'with a name, if the door knows none of an effect': [{ verb: 'create', objectRef: ofNamespace }, { verb: 'create' }],
      'of a generated name in another namespace': [
        { verb: 'create' },
        { verb: 'create', objectRef: { ...ofNamespace, namespace: 'payments' } },
      ],
      'in a namespace, if the door knows none': [
        { verb: 'create', objectRef: { ...ofCluster, name: 'storefront' } },
        { verb: 'create', objectRef: ofNamespace },
      ],
      'without a namespace': [{ verb: 'create' }, { verb: 'create', objectRef: ofCluster }],
      'of all namespaces': [
        { verb: 'deletecollection', objectRef: ofNamespace },
        { verb: 'deletecollection', objectRef: ofCluster },
      ],
    };
    for (const [what, [door, past]] of Object.entries(unlike))
      it(`joins no event ${what}`, async () => {
        await store.append([at(1, door)]);
        await store.join([told(2, 'e1', past)]);
        expect(await ids({}, { limit: 9 })).to.deep.equal(['k2', 'e1']);
      });

    it('keeps the event of the API server beside an event of the door without a known outcome', async () => {
      await store.append([at(1, { outcome: 'unknown' })]);
      await store.join([told(2, 'e1')]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['k2', 'e1']);
    });

    it('joins an event with that of the service whose write had its id, once', async () => {
      const objectRef = { apiGroup: 'auth.platform.io', resource: 'users', name: 'noa' };
      await store.append([at(1, { auditID: 'write-1', source: 'service', event: 'UserPatched', objectRef })]);
      await store.join([told(2, 'write-1', { objectRef: { ...objectRef, name: 'jo' } })]);
      expect(await store.join([told(3, 'write-1', { objectRef })])).to.include({ joined: 1 });
      await store.join([told(4, 'write-1', { objectRef })]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['k4', 'k2', 'write-1']);
    });

    it('joins an event with the write of the account of the service that it names, once', async () => {
      const decided = { apiGroup: 'auth.platform.io', resource: 'accessrequests', subresource: 'approval', name: 'areq-1' };
      const parts = { source: 'service', event: 'AccessDecided', verb: 'update', objectRef: decided } as const;
      await store.append([at(1, { auditID: 'own-write-1', write: 'patch accessrequests/status', ...parts })]);
      const user = { username: 'system:serviceaccount:atrium-system:atrium' };
      const objectRef = { ...decided, subresource: 'status' };
      const unlike: Partial<AuditEvent>[] = [
        { objectRef: decided, verb: 'update' },
        { objectRef: { ...objectRef, name: 'areq-2' } },
        { objectRef: { ...objectRef, apiGroup: '' } },
        { verb: 'update' },
        { outcome: 'failure' },
        { dryRun: true },
      ];
      const write = (second: number, more: Partial<AuditEvent> = {}) => told(second, 'own-write-1', { user, objectRef, ...more });
      expect(await store.join(unlike.map((more, index) => write(index + 2, more)))).to.include({ appended: unlike.length, joined: 0 });
      expect(await store.join([write(20)])).to.include({ joined: 1 });
      expect(await store.join([write(21)])).to.include({ appended: 1, joined: 0 });
    });

    it('joins a write with the account of the service that comes before its event', async () => {
      const objectRef = { apiGroup: 'auth.platform.io', resource: 'users', name: 'noa' };
      expect(await store.join([told(2, 'own-write-1', { objectRef, user: { username: 'robot' } })])).to.include({ waiting: 1 });
      await store.append([at(1, { auditID: 'own-write-1', source: 'service', event: 'UserPatched', objectRef })]);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['own-write-1']);
    });

    it('joins none with another event of the service', async () => {
      await store.append([at(1, { source: 'service', event: 'UserPatched' })]);
      expect(await store.join([told(2, 'e1')])).to.include({ waiting: 1 });
    });

    it('forgets joins with the events that are removed', async () => {
      await store.append([at(1), at(2)]);
      await store.join([told(3, 'e1')]);
      await store.propose([1]);
      expect(await store.remove(1)).to.equal(1);
      expect(await ids({}, { limit: 9 })).to.deep.equal(['e2']);
    });
  });

  it('rejects calls after its stop', async () => {
    await store.stop();
    const called = await store.list({}, { limit: 1 }).then(
      () => 'answered',
      (error: Error) => error.message,
    );
    expect(called).to.equal('the audit store has stopped');
  });
}
