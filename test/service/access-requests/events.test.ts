/** Events of the cluster about access requests: many users may read Events. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aNamespace } from '../bindings/support.ts';
import { nameOf } from '../users/a-user.ts';
import { type Member, password, SessionRequests, warningsOf } from './sessions.ts';
import { aPolicy, type Request } from './support.ts';

const [jane, carl] = ['jane@example.com', 'carl@example.com'];
const texts = { reason: 'canary-of-the-reason', ticket: 'canary-of-the-ticket', comment: 'canary-of-the-comment' };
const { reason, ticket, comment } = texts;

describe('Events of access requests', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: [jane, carl], password, credentials: 'impersonate', features: { accessRequests: true } }),
  );
  let sessions: SessionRequests;
  let members: Record<'jane' | 'carl', Member>;
  before(async () => {
    sessions = new SessionRequests(service);
    await service.admin.apply(aNamespace('shop'));
    members = { jane: await sessions.logIn(jane), carl: await sessions.logIn(carl) };
    const glass = aPolicy('glass', { roleRefs: ['view', 'edit'], requireStepUp: true, breakGlass: true, ticketPattern: ticket });
    await sessions.apply([glass], [members.jane]);
  });

  const ask = (more: object = {}) =>
    sessions.posted(members.jane, '', {
      ...{ policy: 'glass', roleRef: 'view', scope: 'namespace', namespaces: ['shop'], reason, ticket, durationSeconds: 600 },
      ...more,
    });
  const post = ({ metadata: { name } }: Request, action: string, body?: object) =>
    sessions.posted(action === 'end' ? members.jane : members.carl, `/${name}/${action}`, body);
  /** Returns all Events of the cluster. */
  const events = async () => JSON.stringify((await service.admin.call('GET', '/api/v1/events')).body);

  it('have no reason, ticket or comment, from the request to its end', async () => {
    const denied = await ask();
    await post(denied, 'decision', { approve: false, comment });
    const given = await ask();
    await post(given, 'decision', { approve: true, comment });
    const broken = await ask({ breakGlass: true, roleRef: 'edit' });
    await service.admin.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'more-to-view', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [{ apiGroups: ['shop.example.com'], resources: ['orders'], verbs: ['get'] }],
    });
    expect(await warningsOf(service.admin, given.metadata.uid, 'RoleChanged')).to.have.lengthOf(1);
    await post(broken, 'review', { comment });
    for (const request of [given, broken]) await post(request, 'end');
    for (const uid of [broken.metadata.uid, await recordUID()]) await warningsOf(service.admin, uid, 'BreakGlassUsed');

    const stored = JSON.stringify([await sessions.stored(denied), await sessions.stored(given), await sessions.stored(broken)]);
    for (const text of Object.values(texts)) expect(stored).to.include(text);
    const told = await events();
    expect(told).to.include('BreakGlassUsed').and.include('RoleChanged');
    for (const text of Object.values(texts)) expect(told).not.to.include(text);
  });

  const recordUID = async () => {
    const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(jane)}`);
    return (body as { metadata: { uid: string } }).metadata.uid;
  };
});
