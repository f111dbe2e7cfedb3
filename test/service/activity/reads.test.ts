/** Events about readers of the audit, and events that users see about themselves. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditCounts, auditEventList } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aRole } from '../access/objects.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';

const password = 'correct horse';
const [ada, noa] = ['ada@example.com', 'noa@example.com'] as const;

async function startWithStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const service = await startEmbeddedLogin({ emails: [ada, noa], password, auditStore });
  const stop = async () => {
    await service.stop();
    await auditStore.stop();
  };
  return { ...service, auditStore, stop };
}

const anEvent = (auditID: string, parts: Partial<AuditEvent> = {}): AuditEvent => ({
  ...{
    auditID,
    cluster: 'local',
    source: 'service',
    verb: 'update',
    user: { username: ada, groups: ['admins'] },
    sourceIPs: ['192.0.2.1'],
    userAgent: 'firefox',
  },
  ...{ session: 's-ada', accessToken: 'at-ada', requestID: 'r1', traceID: 't1' },
  objectRef: { apiGroup: 'auth.platform.io', resource: 'users', name: nameOf(noa) },
  requestReceivedTimestamp: '2100-01-12T10:00:00.000Z',
  outcome: 'success',
  ...parts,
});

describe('readers of the audit', () => {
  const service = forSuite(startWithStore);
  let [auditor, user]: Browser[] = [];
  const read = async (browser: Browser | undefined, path: string) => {
    const { response, body } = (await browser?.get(`${service.url}/auth/v1/audit${path}`)) ?? expect.fail('no browser');
    return { status: response.status, body };
  };
  const list = async (browser: Browser | undefined, query = '') => {
    const { status, body } = await read(browser, query);
    expect(status, body).to.equal(200);
    return auditEventList.parse(JSON.parse(body));
  };
  const questions = async (event: string) => {
    const { events } = await service.auditStore.list({ event }, { limit: 100 });
    return events.map(({ user: by, question }) => [by?.username, question]).toReversed();
  };

  before(async () => {
    await service.admin.apply(
      aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]),
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: ada }),
    );
    for (const email of [ada, noa]) expect((await service.logIn(email, password)).status).to.equal(200);
    [auditor, user] = [(await service.logIn(ada, password)).browser, (await service.logIn(noa, password)).browser];
    await service.auditStore.append([
      anEvent('reset', { event: 'PasswordReset' }),
      anEvent('granted', {
        verb: 'update',
        objectRef: { apiGroup: 'auth.platform.io', resource: 'accessrequests', name: 'areq' },
        access: { requester: noa, policy: 'shop', role: 'edit' },
      }),
      anEvent('viewed', {
        event: 'ViewedAs',
        verb: 'impersonate',
        objectRef: { apiGroup: 'auth.platform.io', resource: 'users', name: noa },
      }),
      anEvent('other', { objectRef: { apiGroup: 'auth.platform.io', resource: 'users', name: nameOf(ada) } }),
      anEvent('foreign', { user: { username: 'jo' }, verb: 'get', objectRef: { apiGroup: '', resource: 'pods', name: 'cart' } }),
      anEvent('named', { objectRef: { apiGroup: '', resource: 'users', name: nameOf(noa) } }),
      (({ user: _unknown, session: _none, ...refused }) => refused)(
        anEvent('refused', { event: 'FactorFailed', verb: 'create', outcome: 'failure' }),
      ),
    ]);
    await eventually(
      () => list(auditor, '?event=LoginSucceeded'),
      ({ scope, items }) => scope === 'All' && items.length >= 4,
    );
  });

  it('see what was done to their own record, requests and name, without the session and address of another user', async () => {
    const { scope, items } = await list(user, '?from=2100-01-12T00:00:00Z');
    expect(scope).to.equal('Own');
    const byID = new Map(items.map((item) => [item.auditID, item]));
    expect([...byID.keys()].toSorted()).to.deep.equal(['granted', 'refused', 'reset', 'viewed']);
    for (const id of ['granted', 'reset', 'viewed']) {
      const { sourceIPs, userAgent, session, requestID, traceID, user: by } = byID.get(id) ?? expect.fail(id);
      expect({ sourceIPs, userAgent, session, requestID, traceID, by }).to.deep.equal({
        ...{ sourceIPs: [], userAgent: undefined, session: undefined, requestID: undefined, traceID: undefined },
        by: { username: ada },
      });
    }
    expect(byID.get('refused')?.sourceIPs).to.deep.equal(['192.0.2.1']);
    const counted = auditCounts.parse(JSON.parse((await read(user, '/counts?by=actor&from=2100-01-12T00:00:00Z')).body));
    expect(counted).to.deep.include({ scope: 'Own', total: 4 });
    const tokens = ({ items: actors }: typeof counted) => actors.map(({ actor, withToken }) => [actor, withToken]);
    expect(tokens(counted)).to.deep.equal([
      [ada, undefined],
      ['', undefined],
    ]);
    const byAuditor = auditCounts.parse(JSON.parse((await read(auditor, '/counts?by=actor&event=PasswordReset')).body));
    expect(tokens(byAuditor)).to.deep.equal([[ada, 1]]);
    const logins = auditCounts.parse(JSON.parse((await read(user, '/counts?by=actor&event=LoginSucceeded')).body));
    expect(tokens(logins)).to.deep.equal([[noa, 0]]);
    const single = await read(user, '/reset');
    expect(JSON.parse(single.body)).to.deep.equal(byID.get('reset'));
    expect((await read(user, '/other')).status).to.equal(404);
    expect((await read(user, '/foreign')).status).to.equal(404);
    const { body } = await read(user, '/export?from=2100-01-12T00:00:00Z');
    expect(body.trimEnd().split('\n')).to.have.length(4).and.not.include('s-ada');
    expect(body).not.to.include('s-ada');
    expect((await read(user, `?actor=${ada}`)).status).to.equal(403);
  });

  it('make one event for a question with its pages, counts and periods, and another one for another question', async () => {
    const all = await list(auditor, '?outcome=success&verb=update&limit=2');
    await list(auditor, `?verb=update&outcome=success&limit=2&continue=${all.metadata.continue}`);
    await list(auditor, '?verb=update&outcome=success&from=2100-01-12T00:00:00Z');
    expect((await read(auditor, '/counts?by=hour&verb=update&outcome=success')).status).to.equal(200);
    expect((await read(auditor, '/counts?by=verb&verb=update&outcome=failure')).status).to.equal(200);
    expect((await read(auditor, '/foreign')).status).to.equal(200);
    expect((await read(auditor, '/other')).status).to.equal(200);
    expect((await read(auditor, '/export?name=none&from=2100-01-12T00:00:00Z')).status).to.equal(200);
    const exported = await eventually(
      () => questions('AuditExported'),
      (found) => found.length > 1,
    );
    expect(exported).to.deep.equal([
      [noa, 'from=2100-01-12T00%3A00%3A00Z'],
      [ada, 'from=2100-01-12T00%3A00%3A00Z&name=none'],
    ]);
    expect(await questions('AuditRead')).to.deep.equal(
      ['event=LoginSucceeded', 'event=PasswordReset', 'outcome=success&verb=update', 'outcome=failure&verb=update', 'auditID=foreign'].map(
        (question) => [ada, question],
      ),
    );
  });

  it('make no event by reading their own events', async () => {
    await list(user);
    await list(auditor, '?event=LoggedOut');
    const asked = await eventually(
      () => questions('AuditRead'),
      (found) => found.some(([, question]) => question === 'event=LoggedOut'),
    );
    expect(asked.filter(([by]) => by === noa)).to.deep.equal([]);
  });

  it('find their own actions alone by a session, request, token or group: an answer would tell those of another user', async () => {
    for (const hidden of ['session=s-ada', 'request=r1', 'accessToken=at-ada', 'actorGroup=admins']) {
      expect((await list(auditor, `?${hidden}&event=PasswordReset`)).items.map(({ auditID }) => auditID)).to.deep.equal(['reset']);
      expect((await list(user, `?${hidden}`)).items).to.deep.equal([]);
      const counted = auditCounts.parse(JSON.parse((await read(user, `/counts?by=verb&${hidden}`)).body));
      expect(counted).to.deep.include({ scope: 'Own', total: 0 });
      expect((await read(user, `/export?${hidden}`)).body).to.equal('');
    }
    for (const text of ['admins', 's-ada', 'firefox', '192']) expect((await list(user, `?text=${text}`)).items, text).to.deep.equal([]);
    expect((await list(user, '?text=passwordreset')).items.map(({ auditID }) => auditID)).to.deep.equal(['reset']);
    const login = (await list(user, '?event=LoginSucceeded')).items[0] ?? expect.fail('no login');
    expect((await list(user, `?request=${login.requestID}`)).items).to.deep.include(login);
  });
});
