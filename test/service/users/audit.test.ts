import { readFile } from 'node:fs/promises';
import { operation } from '@atrium/http/operation.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { startBareService } from '../../../packages/http/test/bare-service.ts';
import { clientOf, FakeApiServer } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { Audit, auditOrigin } from '../../../src/audit/audit.ts';
import { auditEvents, withAuditTable } from '../../../src/audit/audit-events.ts';
import { UserEvents } from '../../../src/users/record/events.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { aUser, nameOf } from './a-user.ts';
import { Replicas } from './replicas.ts';

const log = createLog({ level: 'silent', format: 'json' });
const now = () => new Date('2026-11-21T12:00:00.900Z');
const anEvent = { audit: 'LoginSucceeded', outcome: 'success' } as const;

describe('the audit trail', () => {
  it('is one JSON line per event, with the names and in the order of the contract', () => {
    const lines: string[] = [];
    const audit = new Audit({ write: (line) => lines.push(line), log, now });

    audit.record({
      reason: 'WrongPassword',
      code: 401,
      outcome: 'failure',
      target: { name: 'abc', uid: 'uid-1' },
      userAgent: 'test',
      source: '10.0.0.1',
      actor: { name: 'jane', uid: '1' },
      requestId: 'request-1',
      audit: 'LoginFailed',
    });

    expect(lines).to.deep.equal([
      '{"audit":"LoginFailed","time":"2026-11-21T12:00:00Z","requestId":"request-1","actor":{"name":"jane","uid":"1"},"source":"10.0.0.1","userAgent":"test","target":"abc","outcome":"failure","code":401,"reason":"WrongPassword"}\n',
    ]);
  });

  it('LEAK-04 stays one line whatever a name holds, and of bounded length', () => {
    const lines: string[] = [];
    const audit = new Audit({ write: (line) => lines.push(line), log, now });

    audit.record({ ...anEvent, actor: { name: `a"\nlevel=error msg=x\r\n${'x'.repeat(100_000)}`, uid: '' } });

    expect(lines).to.have.length(1);
    expect(lines[0]?.trimEnd()).not.to.match(/[\r\n]/);
    expect(lines[0]).to.have.length.below(1000);
  });

  it('names the address of the caller', async () => {
    const lines: string[] = [];
    const audit = new Audit({ write: (line) => lines.push(line), log, now });
    const service = await startBareService(
      [
        operation({
          id: 'Record',
          method: 'GET',
          paths: ['/record'],
          tag: 'test',
          summary: 'records',
          credential: 'none',
          answers: { 200: { description: 'done', content: { 'application/json': z.object({}) } } },
          handle({ ctx }) {
            audit.record({ ...anEvent, ...auditOrigin(ctx) });
            ctx.body = {};
          },
        }),
      ],
      { trustedProxies: ['127.0.0.1'] },
    );
    try {
      const headers = { 'X-Request-Id': 'request-7', 'X-Forwarded-For': '192.0.2.7', 'User-Agent': 'u'.repeat(300) };
      expect((await fetch(`${service.url}/record`, { headers })).status).to.equal(200);
    } finally {
      await service.stop();
    }

    expect(JSON.parse(lines[0] ?? '')).to.include({ requestId: 'request-7', source: '192.0.2.7', userAgent: 'u'.repeat(256) });
  });

  it('has a table of its events in docs/operations.md (npm run docs)', async () => {
    const page = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const rows = page.matchAll(/^\| `([A-Z][A-Za-z]+)` \| [A-Z].+ \| (.*) \| (yes)? \|$/gm);
    const table = Object.fromEntries(Array.from(rows, ([, name = '', fields, event]) => [name, { fields, event }]));

    expect(page).to.equal(withAuditTable(page));
    expect(Object.keys(table)).to.deep.equal(Object.keys(auditEvents));
    expect(table.UserLocked).to.deep.equal({ fields: '`target`, `reason`', event: 'yes' });
    expect(table.GroupMembersChanged).to.deep.equal({ fields: '`actor`, `target`, `code`, `members`', event: undefined });
  });

  it('fails nothing when it cannot be written', () => {
    const logLines: string[] = [];
    const audit = new Audit({
      now: () => new Date(),
      write() {
        throw new Error('EPIPE');
      },
      log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
    });

    audit.record(anEvent);

    expect(logLines.join('')).to.contain('audit event could not be written').and.contain('EPIPE');
  });
});

describe('Kubernetes Events on a user', () => {
  it('say what happened, to whom, from where, and how it ended', async () => {
    const replicas = await Replicas.start();
    try {
      await replicas.kubernetes.apply(aUser('jane@example.com'));
      const name = nameOf('jane@example.com');
      const uid = (await replicas.user(name))?.metadata.uid ?? '';
      const { auditLines, audit } = await replicas.replica();

      audit.record({ ...anEvent, source: '10.0.0.1', actor: { name: 'jane@example.com', uid }, target: { name, uid } });
      audit.record({ ...anEvent, audit: 'UserLocked', reason: 'TooManyFailedLogins', target: { name, uid } });
      audit.record({ ...anEvent, audit: 'LoggedOut', target: { name: 'nobody', uid: '' } });
      audit.record({ ...anEvent, audit: 'UsersSynced' });

      const events = await replicas.events(name, 2);
      expect(events.map(({ reason, type, message }) => [reason, type, message])).to.have.deep.members([
        ['LoginSucceeded', 'Normal', 'LoginSucceeded by jane@example.com from 10.0.0.1'],
        ['UserLocked', 'Warning', 'UserLocked (TooManyFailedLogins)'],
      ]);
      expect(events[0]?.involvedObject).to.deep.include({ apiVersion: 'auth.platform.io/v1', kind: 'User', name, uid });
      expect(await replicas.events('nobody', 0)).to.deep.equal([]);
      expect(auditLines).to.have.length(4);
    } finally {
      await replicas.stop();
    }
  });

  it('are bounded per user, so that failing to log in fills no store, and come again with time', async () => {
    const server = await new FakeApiServer().start();
    const client = clientOf(server);
    let created = 0;
    let clock = 0;
    server.answer((_request, response) => {
      created += 1;
      response.writeHead(201, { 'Content-Type': 'application/json' }).end('{}');
    });
    const events = new UserEvents({ client: client.asService, log, metrics: new Metrics(), now: () => new Date(), clock: () => clock });
    const send = (name: string, count: number) => {
      for (let index = 0; index < count; index += 1) events.send({ ...anEvent, target: { name, uid: `uid of ${name}` } });
    };
    const reaches = (wanted: number) =>
      eventually(
        () => created,
        (count) => count >= wanted,
      );
    try {
      send('jane', 60);
      await reaches(25);
      send('bob', 1);
      await reaches(26);
      expect(created).to.equal(26);

      clock += 600_000;
      send('jane', 10);
      await reaches(28);
      send('bob', 1);
      await reaches(29);
      expect(created).to.equal(29);
    } finally {
      await events.stop();
      await client.close();
      await server.stop();
    }
  });

  it('are lost with a message in the log when the API server does not take them', async () => {
    const server = await new FakeApiServer().start();
    const client = clientOf(server);
    let asked = 0;
    server.answer((_request, response) => {
      asked += 1;
      response.writeHead(500).end();
    });
    const logLines: string[] = [];
    const debugLog = createLog({ level: 'debug', format: 'json' }, { write: (line) => logLines.push(line) });
    const clock = () => performance.now();
    const events = new UserEvents({ client: client.asService, log: debugLog, metrics: new Metrics(), now: () => new Date(), clock });
    try {
      events.send({ ...anEvent, target: { name: 'jane', uid: '1' } });
      await eventually(
        () => logLines,
        ({ length }) => length > 0,
      );

      expect(asked).to.equal(1);
      expect(isRecord(JSON.parse(logLines[0] ?? '')) && logLines[0]).to.contain('Event could not be written');
    } finally {
      await events.stop();
      await client.close();
      await server.stop();
    }
  });
});
