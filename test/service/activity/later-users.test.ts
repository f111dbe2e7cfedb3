/** Users whose address a deleted user had. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { type Recording, recording } from '@atrium/audit-store/recording.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditCounts, auditEventList } from '../../../src/activity/schema.ts';
import { recordingList } from '../../../src/recordings/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';

const [noa, password] = ['noa@example.com', 'correct horse'];
const audit = '/auth/v1/audit';

const anEvent = (auditID: string, time: Date): AuditEvent => ({
  ...{ auditID, cluster: 'local', source: 'door', verb: 'delete', user: { username: noa }, sourceIPs: [], outcome: 'success' },
  objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: auditID },
  requestReceivedTimestamp: time.toISOString(),
});

const aRecording = (id: string, time: Date): Recording =>
  recording.parse({
    ...{ id, cluster: 'local', user: { username: noa }, mode: 'required', startedAt: time.toISOString() },
    objectRef: { namespace: 'shop', name: id, subresource: 'exec' },
    ...{ seconds: 1, width: 80, height: 24, bytes: 0, lostBytes: 0 },
  });

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`a user whose address a deleted user had, with credentials: ${credentials}`, () => {
    const service = forSuite(async () => {
      const auditStore = await SqliteStore.open(':memory:');
      const started = await startEmbeddedLogin({ emails: [noa], password, credentials, auditStore });
      const stop = async () => {
        await started.stop();
        await auditStore.stop();
      };
      return { ...started, auditStore, stop };
    });
    const act = async (id: string) => {
      const time = new Date();
      await service.auditStore.append([anEvent(id, time)]);
      await service.auditStore.recordings.keep({ recording: aRecording(id, time), isNew: true });
    };
    const logIn = async () => {
      const { browser } = await eventually(
        () => service.logIn(noa, password),
        ({ status }) => status === 200,
      );
      return browser;
    };
    const get = async (browser: Browser, path: string) => {
      const { response, body } = await browser.get(`${service.url}${audit}${path}`);
      return { status: response.status, body };
    };
    const seen = async (browser: Browser) => {
      const list = auditEventList.parse(JSON.parse((await get(browser, '?resource=pods&from=2026-01-12T00:00:00Z')).body));
      const counts = auditCounts.parse(JSON.parse((await get(browser, '/counts?by=object&resource=pods')).body));
      const exported = (await get(browser, '/export?resource=pods')).body;
      const recordings = recordingList.parse(JSON.parse((await get(browser, '/recordings?from=2026-01-12T00:00:00Z')).body));
      const status = async (path: string) => (await get(browser, path)).status;
      return {
        scopes: [list.scope, counts.scope, recordings.scope],
        events: list.items.map(({ auditID }) => auditID),
        counted: counts.total,
        exported: exported.split('\n').filter((line) => line !== '').length,
        recordings: recordings.items.map(({ id }) => id),
        former: [await status('/former'), await status('/recordings/former')],
        later: [await status('/later'), await status('/recordings/later')],
      };
    };
    const ofRecord = async () => {
      const headers = { authorization: `Bearer ${await service.cluster.token('admin')}` };
      const answer = await service.request(`${audit}?user=${nameOf(noa)}`, { headers });
      return auditEventList.parse(await answer.json()).items;
    };
    const scopes = ['Own', 'Own', 'Own'];
    const remove = async () => {
      const headers = { authorization: `Bearer ${await service.cluster.token('admin')}` };
      return service.request(`/auth/v1/users/${nameOf(noa)}`, { method: 'DELETE', headers });
    };
    const create = async () => {
      const headers = { authorization: `Bearer ${await service.cluster.token('admin')}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ spec: { email: noa, password } });
      return service.request('/auth/v1/users', { method: 'POST', headers, body });
    };

    it('sees neither the events nor the recordings of the former user', async () => {
      const former = await logIn();
      await act('former');
      expect(await seen(former)).to.deep.equal({
        ...{ scopes, events: ['former'], counted: 1, exported: 1, recordings: ['former'], former: [200, 200], later: [404, 404] },
      });

      // Times of records are whole seconds.
      const until = Math.ceil(Date.now() / 1000) * 1000;
      await eventually(
        async () => Date.now(),
        (now) => now >= until,
      );
      expect((await remove()).status).to.equal(204);
      const created = await eventually(create, ({ status }) => status !== 409);
      expect(created.status, await created.text()).to.equal(201);

      const later = await logIn();
      await act('later');
      expect(await seen(later)).to.deep.equal({
        ...{ scopes, events: ['later'], counted: 1, exported: 1, recordings: ['later'], former: [404, 404], later: [200, 200] },
      });
      // Auditors see the events of the later user alone, from the creation of the record on.
      const events = await eventually(ofRecord, (items) => items.some(({ auditID }) => auditID === 'later'));
      expect(events.map(({ auditID }) => auditID)).not.to.include('former');
      expect(events.map(({ event }) => event))
        .to.include.members(['UserCreated', 'LoginSucceeded'])
        .and.not.to.include('UserDeleted');
    });
  });
