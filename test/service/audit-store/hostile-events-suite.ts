import { type AuditEvent, auditEvent } from '@atrium/audit-store/event.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { AuditIntake } from '../../../src/audit/audit-intake.ts';
import { RemoteStore } from '../../../src/audit/remote-store.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { openUpgrade } from '../proxy/support.ts';
import { accept } from '../recordings/shells.ts';
import { listRecordings, people, shellIn } from '../recordings/support.ts';
import { withAuditStore } from './installation.ts';

/** An event with all members. */
const whole: Required<Omit<AuditEvent, 'objectUser'>> = {
  ...{ auditID: 'id', cluster: 'local', source: 'door', event: 'AccessDecided', verb: 'create', action: 'grant', dryRun: true },
  user: { username: 'ada', uid: 'uid', groups: ['group'] },
  impersonatedUser: { username: 'bob' },
  ...{ sourceIPs: ['192.0.2.1'], userAgent: 'kubectl' },
  objectRef: { apiGroup: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'cart' },
  stage: 'ResponseComplete',
  connection: {
    ...{ container: 'web', image: 'busybox:1', command: ['sh'], tty: true, ports: ['80'], recording: 'r1', bytesSent: 1, bytesReceived: 2 },
    recorded: { sha256: 'digest', bytes: 3, lines: 4 },
  },
  ...{ requestReceivedTimestamp: '2026-01-12T10:00:00.000Z', milliseconds: 8, outcome: 'success', responseStatus: { code: 200 } },
  ...{ requestBytes: 5, responseBytes: 6 },
  ...{ write: 'patch users', reason: 'Because', issuer: 'issuer', requestID: 'r1', traceID: 't1', session: 's1', accessToken: 'a1' },
  accessRequests: ['areq-1'],
  changes: [{ field: 'spec.replicas', from: 1, to: 2 }],
  grant: { role: 'ClusterRole/view', subjects: ['User/eve'], namespaces: ['shop'], until: '2026-01-13T10:00:00Z' },
  ...{ patchType: 'application/json', requestObject: '{}', annotations: { 'authorization.k8s.io/reason': 'a binding' } },
  access: { requester: 'eve', policy: 'p1', role: 'ClusterRole/view', namespaces: ['shop'], until: '2026-01-13T10:00:00Z' },
  ...{ binding: 'RoleBinding/shop/b1', question: 'verb=get', workload: 'subject' },
  shell: { user: 'eve', pod: 'cart-0' },
  agent: {
    ...{ client: 'c1', name: 'Agent', host: 'agent.example.com', tool: 'get' },
    objects: [{ apiGroup: '', resource: 'pods', namespace: 'shop', name: 'cart-0' }],
  },
  members: { added: 1, removed: 0, names: ['eve'] },
};

/** Texts of closed sets, and times. */
const closed = ['auditID', 'source', 'stage', 'outcome', 'requestReceivedTimestamp'];

/** Returns copies of a value, in each of which one text is another one. */
function withEachText(value: unknown, text: string): unknown[] {
  if (typeof value === 'string') return [text];
  if (Array.isArray(value)) return value.flatMap((member, index) => withEachText(member, text).map((one) => value.with(index, one)));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    closed.includes(name) ? [] : withEachText(member, text).map((one) => ({ ...value, [name]: one })),
  );
}

const hostileTexts = {
  'half of a surrogate pair': `${'x'.repeat(255)}\ud83d`,
  'the other half': '\ude00x',
  NUL: 'a\0b',
  'a text as long as the head of a request': 'ä'.repeat(16_384),
};

/** Tests that hold on each database. */
export function itTakesHostileEvents(databaseSettings: () => Promise<object> = async () => ({})): void {
  const between = new ApiServerBetween();
  const service = forSuite(async () => {
    const started = await withAuditStore(
      {
        ...{ between: between.start, objects: people },
        config: { audit: { recordings: [{ namespaces: ['shop'], mode: 'besteffort' }] } },
      },
      await databaseSettings(),
    );
    await started.startStore();
    return started;
  });

  /** Hands events to the store as a replica does, and reads them again. */
  async function handedOver(events: readonly AuditEvent[]) {
    const store = new RemoteStore({ url: service.storeURL, tokenFile: service.tokenFile });
    const metrics = new Metrics();
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json' }, { write: (line) => lines.push(line) });
    const intake = new AuditIntake({ store, metrics, log, now: () => new Date() });
    try {
      for (const event of events) intake.record(event);
      await eventually(
        () => intake.state(),
        ({ waiting }) => waiting === 0,
      );
      const kept = new Map<string, AuditEvent>();
      let before: Awaited<ReturnType<RemoteStore['list']>>['last'];
      do {
        const page = await store.list({}, { limit: 50, before });
        for (const event of page.events) kept.set(event.auditID, event);
        before = page.last;
      } while (before !== undefined);
      return { kept: events.map(({ auditID }) => kept.get(auditID)), lost: intake.state().lost, lines };
    } finally {
      await intake.stop();
      await store.stop();
    }
  }

  it('has an example of each member', () => {
    expect(Object.keys(whole).sort()).to.deep.equal(
      Object.keys(auditEvent.shape)
        .filter((name) => name !== 'objectUser')
        .sort(),
    );
  });

  for (const [title, text] of Object.entries(hostileTexts))
    it(`keeps events with ${title} in each member`, async () => {
      const events = withEachText(whole, text).map((event, index) => ({ ...(event as AuditEvent), auditID: `${title} ${index}` }));
      const { kept, lost } = await handedOver(events);
      const mended = JSON.parse(JSON.stringify(events).replaceAll(/\\ud83d|\\ude00/g, '\ufffd')) as AuditEvent[];
      expect([kept, lost]).to.deep.equal([mended, 0]);
    });

  it('keeps the user, verb and object of an event without the details that the store refuses', async () => {
    const { auditID, ...others } = whole;
    const refused = { ...others, auditID: 'refused', milliseconds: 1.5 };
    const { kept, lost, lines } = await handedOver([{ ...whole, auditID: 'before' }, refused, { ...whole, auditID: 'after' }]);
    expect(kept[1]).to.deep.equal({
      ...{ auditID: 'refused', cluster: 'local', source: 'door', event: 'AccessDecided', verb: 'create', stage: 'ResponseComplete' },
      ...{ user: { username: 'ada' }, impersonatedUser: { username: 'bob' }, sourceIPs: [], objectRef: whole.objectRef },
      ...{ requestReceivedTimestamp: whole.requestReceivedTimestamp, outcome: 'success', responseStatus: { code: 200 } },
      ...{ requestID: 'r1', reason: 'DetailsRefused' },
    });
    expect([kept[0]?.auditID, kept[2]?.auditID, lost]).to.deep.equal(['before', 'after', 0]);
    expect(lines.filter((line) => line.includes('audit event was stored without its details'))).to.have.length(1);
  });

  it('names an event in the log that the store refuses altogether', async () => {
    const { kept, lost, lines } = await handedOver([{ ...whole, auditID: 'impossible', requestReceivedTimestamp: 'never' }]);
    expect([kept, lost]).to.deep.equal([[undefined], 1]);
    const line = lines.find((one) => one.includes('audit events are lost')) ?? '';
    expect(JSON.parse(line)).to.deep.include({ count: 1 });
    expect((JSON.parse(line) as { event: AuditEvent }).event).to.deep.include({ verb: 'create', objectRef: whole.objectRef });
  });

  it('keeps the events and the recording of a shell whose command is cut within a character', async () => {
    between.upgrade = (request, socket) => void accept(request, socket).then(() => socket.end());
    const word = `${'x'.repeat(255)}\u{1f600}`;
    const path = `${shellIn('cart', 'stdout=true')}&command=${encodeURIComponent(word)}&container=${encodeURIComponent(word)}`;
    const headers = { Authorization: `Bearer ${await service.token('alice')}`, 'Sec-WebSocket-Protocol': 'v4.channel.k8s.io' };
    expect((await openUpgrade(service, headers, { path })).status).to.equal(101);
    const cut = `${'x'.repeat(255)}\ufffd`;
    const events = async () => {
      const answer = await service.request('/auth/v1/audit?name=cart&subresource=exec', { as: 'admin' });
      return auditEventList.parse(await answer.json()).items;
    };
    const items = await eventually(events, (found) => found.length === 2);
    expect(items.map(({ stage, connection }) => [stage, connection?.container, connection?.command])).to.deep.equal([
      ['ResponseComplete', cut, ['sh', cut]],
      ['ResponseStarted', cut, ['sh', cut]],
    ]);
    const { items: recordings } = await eventually(
      () => listRecordings(service, 'alice'),
      (found) => found.items.length === 1,
    );
    expect(recordings[0]).to.deep.include({ container: cut, command: ['sh', cut] });
  });

  it('keeps the event of a new binding with half of a surrogate pair in the name of a subject', async () => {
    const [rbac, name] = ['rbac.authorization.k8s.io', 'hostile-binding'];
    const body = {
      ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name } },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
      subjects: ['\ud83d', 'eve'].map((subject) => ({ apiGroup: rbac, kind: 'User', name: subject })),
    };
    const path = `/api/kubernetes/apis/${rbac}/v1/clusterrolebindings`;
    expect((await service.request(path, { method: 'POST', as: 'admin', body })).status).to.equal(201);
    const events = async () => {
      const answer = await service.request(`/auth/v1/audit?name=${name}`, { as: 'admin' });
      return auditEventList.parse(await answer.json()).items;
    };
    const [event] = await eventually(events, (found) => found.length > 0);
    expect(event?.grant).to.deep.equal({ role: 'ClusterRole/view', subjects: ['User/\ufffd', 'User/eve'] });
  });
}
