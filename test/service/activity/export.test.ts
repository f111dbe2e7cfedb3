import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEvent, auditEvent as storedEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const audits = { apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] };

async function withStore() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const auditStore = await SqliteStore.open(join(directory, 'audit.db'));
  const server = await startServer({
    auditStore,
    objects: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'auditors' }, rules: [audits] },
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: 'bob' }),
    ],
  });
  return {
    ...server,
    auditStore,
    async stop() {
      await server.stop();
      await auditStore.stop();
      await rm(directory, { recursive: true });
    },
  };
}

const anEvent = (number: number, parts: Partial<AuditEvent> = {}): AuditEvent => ({
  ...{ auditID: `e${number}`, cluster: 'local', source: 'door', verb: 'delete', user: { username: 'alice' }, sourceIPs: ['192.0.2.1'] },
  objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: `cart-${number}` },
  requestReceivedTimestamp: new Date(Date.UTC(2026, 0, 12, 10, 0, number)).toISOString(),
  outcome: 'success',
  ...parts,
});

/** Reads CSV as RFC 4180 has it. */
function cellsOf(text: string): string[][] {
  const rows: string[][] = [];
  const rest = text.replaceAll(/"((?:[^"]|"")*)"(,|\r\n)/g, (_cell, value: string, end: string) => {
    const row = rows.at(-1);
    if (row === undefined || row.at(-1) === '\n') rows.push([value.replaceAll('""', '"')]);
    else row.push(value.replaceAll('""', '"'));
    if (end === '\r\n') rows.at(-1)?.push('\n');
    return '';
  });
  expect(rest).to.equal('');
  return rows.map((row) => row.slice(0, -1));
}

describe('the export of audit events', () => {
  const server = forSuite(withStore);
  const ask = (query: Record<string, string>, as?: Person) =>
    server.request(`/auth/v1/audit/export?${new URLSearchParams(query)}`, { ...(as && { as }) });
  const exported = async (query: Record<string, string>, as: Person = 'bob') => {
    const response = await ask(query, as);
    expect(response.status).to.equal(200);
    return { text: await response.text(), headers: response.headers };
  };
  const linesOf = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => storedEvent.parse(JSON.parse(line)));

  before(() => server.auditStore.append(Array.from({ length: 1_203 }, (_, index) => anEvent(index))));

  it('has all events of a question as lines of JSON, newest first', async () => {
    const { text, headers } = await exported({ verb: 'delete' });
    expect(headers.get('content-type')).to.equal('application/x-ndjson');
    expect(headers.get('content-disposition')).to.equal('attachment; filename="audit.ndjson"');
    expect(linesOf(text)).to.deep.equal(Array.from({ length: 1_203 }, (_, index) => anEvent(1_202 - index)));
    const part = await exported({ from: '2026-01-12T10:00:05Z', to: '2026-01-12T10:00:10Z', limit: '2' });
    expect(linesOf(part.text).map(({ auditID }) => auditID)).to.deep.equal(['e9', 'e8']);
    const many = await exported({ verb: 'delete', limit: '700' });
    expect(linesOf(many.text)).to.have.length(700);
  });

  it('is a table with titles as CSV, also without an event', async () => {
    const { text, headers } = await exported({ name: 'cart-7', format: 'csv' });
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8; header=present');
    expect(headers.get('content-disposition')).to.equal('attachment; filename="audit.csv"');
    const [titles = [], cells = [], ...others] = cellsOf(text);
    const row = Object.fromEntries(titles.map((title, index) => [title, cells[index]]));
    expect(row).to.include({ time: '2026-01-12T10:00:07.000Z', user: 'alice', verb: 'delete', namespace: 'shop', name: 'cart-7' });
    expect([row.code, others]).to.deep.equal(['', []]);
    expect(cellsOf((await exported({ name: 'none', format: 'csv' })).text)).to.deep.equal([titles]);
  });

  it('has the changes of numbers as text, also without the number before', async () => {
    const changes = [
      { field: 'spec.replicas', from: 0, to: 3 },
      { field: 'spec.replicas', to: 2 },
    ];
    await server.auditStore.append([anEvent(4_000, { verb: 'patch', changes })]);
    const [titles = [], cells = []] = cellsOf((await exported({ verb: 'patch', format: 'csv' })).text);
    expect(cells[titles.indexOf('changes')]).to.equal('spec.replicas: 0 to 3, spec.replicas: to 2');
  });

  it('has the bytes of requests and connections', async () => {
    const connection = { bytesSent: 3, bytesReceived: 4 };
    await server.auditStore.append([anEvent(4_002, { verb: 'update', requestBytes: 1, responseBytes: 2, connection })]);
    const [titles = [], cells = []] = cellsOf((await exported({ verb: 'update', format: 'csv' })).text);
    expect(titles.slice(-5, -1)).to.deep.equal(['requestBytes', 'responseBytes', 'bytesSent', 'bytesReceived']);
    expect(cells.slice(-5, -1)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('has the access requests by which the user had a role, in the last column', async () => {
    await server.auditStore.append([anEvent(4_003, { verb: 'update', accessRequests: ['ada-edit', 'ada-view'] })]);
    const [titles = [], cells = []] = cellsOf((await exported({ name: 'cart-4003', format: 'csv' })).text);
    expect([titles.at(-1), cells.at(-1)]).to.deep.equal(['accessRequests', 'ada-edit ada-view']);
  });

  it('has the question of an event about an export', async () => {
    await server.auditStore.append([anEvent(4_001, { verb: 'list', question: 'verb=get&name=db' })]);
    const [titles = [], cells = []] = cellsOf((await exported({ verb: 'list', name: 'cart-4001', format: 'csv' })).text);
    expect(cells[titles.indexOf('question')]).to.equal('verb=get&name=db');
  });

  it('has hostile texts as single cells of text, and as they are in lines of JSON', async () => {
    const hostile: Record<string, string> = {
      '=HYPERLINK("http://evil")': `'=HYPERLINK("http://evil")`,
      '+1': "'+1",
      '-2': "'-2",
      '@SUM(1)': "'@SUM(1)",
      '\t=1': " '=1",
      '\uff1d1': "'\uff1d1",
      'a\r\n"b",c': 'a  "b",c',
      'a;=cmd|x': "a;'=cmd|x",
      'a","=1': `a","'=1`,
      '\u202eda': ' da',
      'a\u2028b\u0000': 'a b ',
      'a=b-c@d.e': 'a=b-c@d.e',
    };
    const events = Object.keys(hostile).map((text, index) =>
      anEvent(5_000 + index, { verb: 'get', user: { username: text }, userAgent: text }),
    );
    await server.auditStore.append(events);
    const [titles = [], ...rows] = cellsOf((await exported({ verb: 'get', format: 'csv' })).text);
    const column = (title: string) => rows.map((row) => row[titles.indexOf(title)]).toReversed();
    expect(column('user')).to.deep.equal(Object.values(hostile));
    expect(column('userAgent')).to.deep.equal(Object.values(hostile));
    expect(linesOf((await exported({ verb: 'get' })).text).toReversed()).to.deep.equal(events);
  });

  it('has the own events of a caller who may not list audits, in a file named own-audit', async () => {
    const { text, headers } = await exported({ verb: 'delete' }, 'alice');
    expect(headers.get('content-disposition')).to.equal('attachment; filename="own-audit.ndjson"');
    expect(linesOf(text)).to.have.length(1_203);
    expect((await exported({ verb: 'delete' }, 'carol')).text).to.equal('');
    expect((await ask({ actor: 'alice' }, 'carol')).status).to.equal(403);
    expect((await ask({})).status).to.equal(401);
    for (const query of [{ format: 'xml' }, { limit: '0' }, { unknown: 'a' }])
      expect((await ask(query as never, 'bob')).status).to.equal(400);
  });

  it('is an event itself', async () => {
    await exported({ name: 'none' });
    const response = await eventually(
      async () => auditEventList.parse(await (await server.request('/auth/v1/audit?event=AuditExported&actor=bob', { as: 'bob' })).json()),
      ({ items }) => items.length > 0,
    );
    expect(response.items[0]).to.deep.include({ verb: 'list', outcome: 'success', responseStatus: { code: 200 } });
  });

  it('reads no further events once the caller has gone', async () => {
    await server.auditStore.append(
      Array.from({ length: 4_000 }, (_, index) => anEvent(10_000 + index, { verb: 'watch', userAgent: 'x'.repeat(8_000) })),
    );
    const { auditStore } = server;
    const list = auditStore.list.bind(auditStore);
    let count = 0;
    auditStore.list = (...query) => {
      count += 1;
      return list(...query);
    };
    const leaving = new AbortController();
    const response = await server.request('/auth/v1/audit/export?verb=watch', { as: 'bob', signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    const isEnd = (line: string) => line.includes('"operation":"ExportAuditEvents"') && line.includes('"code":499');
    await eventually(
      async () => server.logLines.some(isEnd),
      (isOver) => isOver,
    );
    Reflect.deleteProperty(auditStore, 'list');
    expect(count).to.be.lessThan(8);
  });

  it('returns an event by its id to callers who may list it', async () => {
    const get = (id: string, as: Person) => server.request(`/auth/v1/audit/${id}`, { as });
    const found = await get('e7', 'bob');
    expect([found.status, await found.json()]).to.deep.equal([200, anEvent(7)]);
    expect((await get('e7', 'alice')).status).to.equal(200);
    const hidden = await get('e7', 'carol');
    const none = await get('e7-no', 'bob');
    expect([hidden.status, none.status]).to.deep.equal([404, 404]);
    expect(((await hidden.json()) as { message: string }).message).to.equal('audits.auth.platform.io "e7" not found');
    const { metadata, ...binding } = clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: 'carol' });
    await server.kubernetes.apply({ ...binding, kind: 'RoleBinding', metadata: { ...metadata, namespace: 'shop' } });
    await eventually(
      () => get('e7', 'carol'),
      ({ status }) => status === 200,
    );
  });
});
