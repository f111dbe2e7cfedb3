/** Changes that end a request or its access, and races of two replicas. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aGroup, aNamespace, applyKnown, Bindings, bindingsPath } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { warningsOf } from './sessions.ts';
import { AccessRequests, aPolicy, mergePatch, policiesPath, type Request, requestsPath, user } from './support.ts';

const users = '/apis/auth.platform.io/v1/users';
const groups = '/apis/auth.platform.io/v1/groups';
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const admissionPolicies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
const subjects = [user('alice')];
const approvers = [user('bob'), user('carol')];

describe('access by a request', () => {
  let ahead = 0;
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } }, now: () => new Date(Date.now() + ahead) }));
  let access: AccessRequests;
  let serial = 0;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob', 'carol', 'viewer'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
  });

  /** Creates a policy of its own, and a request of alice. */
  const pending = async (spec: Record<string, unknown> = {}) => {
    serial += 1;
    const policy = `policy-${serial}`;
    await access.apply(aPolicy(policy, { subjects, approvers, ...spec }));
    const { roleRefs = ['view'] } = spec as { roleRefs?: string[] };
    return { policy, request: await access.asked({ as: 'alice' }, { policy, roleRef: roleRefs[0] }) };
  };
  const active = async (spec: Record<string, unknown> = {}) => {
    const { policy, request } = await pending(spec);
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    return { policy, request };
  };
  const untilUnbound = ({ metadata: { uid } }: Request) =>
    eventually(
      () => server.kubernetes.call('GET', `${bindingsPath}/ar-${uid}`),
      ({ status }) => status === 404,
    );
  const ends = async (request: Request, phase: string, reason: string) => {
    expect((await access.untilPhase(request, phase)).status).to.include({ reason });
    await untilUnbound(request);
  };

  it('ACP-09 ends with its policy, pending or active', async () => {
    const [waiting, given] = [await pending(), await active()];
    for (const { policy } of [waiting, given]) await server.kubernetes.remove(`${policiesPath}/${policy}`);
    await ends(waiting.request, 'Lapsed', 'PolicyChanged');
    await ends(given.request, 'Ended', 'PolicyChanged');
  });

  it('ACP-09 ends with a policy that is created again with more rights, or narrowed', async () => {
    const [anew, narrowed] = [await active(), await active()];
    await server.kubernetes.remove(`${policiesPath}/${anew.policy}`);
    await access.apply(aPolicy(anew.policy, { subjects, approvers, roleRefs: ['view', 'edit'] }));
    await server.kubernetes.call('PATCH', `${policiesPath}/${narrowed.policy}`, { spec: { roleRefs: ['edit'] } }, mergePatch);
    await ends(anew.request, 'Ended', 'PolicyChanged');
    await ends(narrowed.request, 'Ended', 'PolicyChanged');
  });

  it('ACP-09 ends with the group by which the user may ask', async () => {
    await applyKnown(server, aGroup('askers', [nameOf('alice@example.com')]));
    const { request } = await active({ subjects: [{ kind: 'Group', name: 'local:askers' }] });
    expect(request.spec).to.deep.include({ subject: { kind: 'Group', name: 'local:askers' } });
    await server.kubernetes.call('PATCH', `${groups}/askers`, { spec: { users: [] } }, mergePatch);
    await ends(request, 'Ended', 'PolicyChanged');
  });

  it('JIT-15 ends with its role, also if another role gets the name', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'edit' }, rules: [] };
    await server.kubernetes.apply(role);
    const { request } = await active({ roleRefs: ['edit'] });
    await server.kubernetes.remove(`${roles}/edit`);
    await server.kubernetes.apply(role);
    await ends(request, 'Ended', 'RoleChanged');
  });

  it('JIT-15 is kept when the rules of its role change, which an Event and the time in its status report', async () => {
    const [given, waiting] = [await active(), await pending()];
    expect((await access.stored(given.request)).status).not.to.have.property('rulesChangedAt');
    await server.kubernetes.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'more-to-view', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [{ apiGroups: ['shop.example.com'], resources: ['orders'], verbs: ['get'] }],
    });
    for (const [{ request }, phase] of [
      [given, 'Active'],
      [waiting, 'Pending'],
    ] as const) {
      const { status } = await eventually(
        () => access.stored(request),
        (stored) => stored.status?.rulesChangedAt !== undefined,
      );
      expect(status).to.include({ phase });
      expect(await warningsOf(server.kubernetes, request.metadata.uid, 'RoleChanged')).to.have.lengthOf(1);
    }
    for (const { request } of [given, waiting]) await access.end({ as: 'alice' }, request);
    await server.kubernetes.remove(`${roles}/more-to-view`);
  });

  it('JIT-10 continues when its RoleBinding is altered or deleted by hand, and the RoleBinding is restored', async () => {
    const { request } = await active();
    const name = `ar-${request.metadata.uid}`;
    const bindings = new Bindings(server.kubernetes);
    await bindings.untilBound(name, ['User alice in shop']);
    const [before] = await bindings.made(name);
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings/${before?.metadata.name}`;
    const wider = ['alice', 'mallory'].map((subject) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: subject }));
    expect((await server.kubernetes.call('PATCH', path, { subjects: wider }, mergePatch)).status).to.equal(200);
    await bindings.untilBound(name, ['User alice in shop']);
    await server.kubernetes.remove(path);
    await eventually(
      () => bindings.made(name),
      ([again]) => again !== undefined && again.metadata.uid !== before?.metadata.uid,
    );
    await bindings.untilBound(name, ['User alice in shop']);
    expect((await access.stored(request)).status).to.include({ phase: 'Active' });
    await access.end({ as: 'alice' }, request);
  });

  it('ends its rights, and is recorded as ended once, although another finalizer keeps its UserBinding', async () => {
    const { request } = await active();
    const path = `${bindingsPath}/ar-${request.metadata.uid}`;
    const { body } = await server.kubernetes.call('GET', path);
    const { finalizers = [] } = (body as { metadata: { finalizers?: string[] } }).metadata;
    const hold = { metadata: { finalizers: [...finalizers, 'example.com/hold'] } };
    expect((await server.kubernetes.call('PATCH', path, hold, { ...mergePatch, ...asService })).status).to.equal(200);
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);
    await new Bindings(server.kubernetes).untilBound(`ar-${request.metadata.uid}`, []);
    const release = { metadata: { finalizers: null } };
    expect((await server.kubernetes.call('PATCH', path, release, { ...mergePatch, ...asService })).status).to.equal(200);
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);
    const events = server.auditLines.map((line) => JSON.parse(line)).filter(({ target }) => target === request.metadata.name);
    expect(events.map(({ audit }) => audit).filter((audit) => audit === 'AccessEnded')).to.have.lengthOf(1);
  });

  it('JIT-18 ends with its UserBinding, deleted or shortened by hand', async () => {
    const [deleted, shortened] = [await active(), await active()];
    const path = ({ metadata: { uid } }: Request) => `${bindingsPath}/ar-${uid}`;
    await server.kubernetes.remove(path(deleted.request));
    const { status } = await access.stored(shortened.request);
    const expiresAt = new Date(Date.parse(status?.until ?? '') - 60_000).toISOString().replace('.000Z', 'Z');
    await server.kubernetes.call('PATCH', path(shortened.request), { spec: { expiresAt } }, mergePatch);
    await ends(deleted.request, 'Ended', 'BindingDeleted');
    await ends(shortened.request, 'Ended', 'BindingShortened');
    for (const { request } of [deleted, shortened]) {
      const { until, ended } = (await access.stored(request)).status ?? {};
      expect(until).to.equal(ended);
    }
  });

  it('JIT-18 ends with a disabled user, and JIT-08 with a user who is deleted and created again', async () => {
    serial += 1;
    const policy = `policy-${serial}`;
    await access.apply(aPolicy(policy, { subjects: [user('viewer')], approvers }));
    const disable = (is_disabled: boolean) =>
      server.kubernetes.call('PATCH', `${users}/${nameOf('viewer@example.com')}`, { spec: { is_disabled } }, mergePatch);
    const ask = async () => {
      const answer = await eventually(
        () => access.ask({ as: 'viewer' }, { policy }),
        ({ status }) => status === 201,
      );
      return answer.body;
    };
    const first = await ask();
    await access.decide({ as: 'bob' }, first);
    await disable(true);
    await ends(first, 'Ended', 'UserDisabled');
    await disable(false);

    const given = await ask();
    await access.decide({ as: 'bob' }, given);
    await server.kubernetes.remove(`${users}/${nameOf('viewer@example.com')}`);
    await applyKnown(server, aUser('viewer@example.com', { subjectName: 'viewer' }));
    await ends(given, 'Ended', 'UserGone');
  });

  it('ends at its expiry, and a request without a decision after a day', async () => {
    const { request } = await active();
    ahead = 601_000;
    await server.kubernetes.call('PATCH', `${users}/${nameOf('alice@example.com')}`, { spec: { username: 'Alice' } }, mergePatch);
    await ends(request, 'Ended', 'Expired');
    ahead = 0;
    const waiting = await pending();
    ahead = 86_401_000;
    await server.kubernetes.call('PATCH', `${users}/${nameOf('alice@example.com')}`, { spec: { username: 'Alice A.' } }, mergePatch);
    await ends(waiting.request, 'Lapsed', 'NotDecided');
    ahead = 0;
  });

  it('leaves no request 30 days after its end', async () => {
    const [kept, gone] = [await pending(), await pending()];
    for (const { request } of [kept, gone]) await access.end({ as: 'alice' }, request);
    const endedAgo = async ({ request }: typeof kept, hours: number) => {
      const ended = new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const path = `${requestsPath}/${request.metadata.name}`;
      await server.kubernetes.call('PATCH', `${path}/status`, { status: { ended } }, { ...mergePatch, ...asService });
      return async () => (await server.kubernetes.call('GET', path)).status;
    };
    const [ofKept, ofGone] = [await endedAgo(kept, 30 * 24 - 1), await endedAgo(gone, 30 * 24 + 1)];
    await eventually(ofGone, (status) => status === 404);
    expect(await ofKept()).to.equal(200);
  });

  it('JIT-05 has one outcome, if two replicas approve, deny and end it at once', async () => {
    const other = await server.replica();
    for (let round = 0; round < 4; round += 1) {
      const { request } = await pending();
      await eventually(
        () => access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as: 'bob', at: other.url }),
        ({ status }) => status === 200,
      );
      const answers = await Promise.all([
        access.decide({ as: 'bob' }, request),
        access.decide({ as: 'carol', at: other.url }, request, false),
        access.end({ as: 'alice', at: other.url }, request),
      ]);
      const { status } = await access.stored(request);
      const approvals = answers[0].status === 200;
      const denials = answers[1].status === 200;
      expect(approvals && denials, JSON.stringify(answers)).to.equal(false);
      expect(status?.phase).to.be.oneOf(['Denied', 'Withdrawn', 'Ended', 'Lapsed', 'Active']);
      if (status?.phase === 'Active') await access.end({ as: 'alice' }, request);
      await untilUnbound(request);
    }
    await other.stop();
  });

  it('JIT-05 has one UserBinding, if approvers on two replicas complete it at once', async () => {
    const other = await server.replica();
    const { request } = await pending({ approvals: 2 });
    await eventually(
      () => access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as: 'bob', at: other.url }),
      ({ status }) => status === 200,
    );
    const answers = await Promise.all([access.decide({ as: 'bob' }, request), access.decide({ as: 'carol', at: other.url }, request)]);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    const stored = await access.untilPhase(request, 'Active');
    expect(stored.status?.decisions).to.have.lengthOf(2);
    const { body } = await server.kubernetes.call('GET', bindingsPath);
    const made = (body as { items: { spec: { request?: { uid: string } } }[] }).items;
    expect(made.filter(({ spec }) => spec.request?.uid === request.metadata.uid)).to.have.lengthOf(1);
    await access.end({ as: 'alice' }, request);
    await other.stop();
  });

  it('JIT-05 is completed by the leader, if the replica of the last approval stops in between', async () => {
    const { request } = await pending();
    const { name } = request.metadata;
    const now = new Date();
    const time = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
    const decisions = [{ by: 'bob', record: nameOf('bob@example.com'), approve: true, isVoid: false, time: time(now.getTime() - 15_000) }];
    const status = { phase: 'Approving', decisions, begin: time(now.getTime()), until: time(now.getTime() + 500_000) };
    ahead = 20_000;
    const written = await server.kubernetes.call('PATCH', `${requestsPath}/${name}/status`, { status }, { ...mergePatch, ...asService });
    expect(written.status, JSON.stringify(written.body)).to.equal(200);
    expect((await access.untilPhase(request, 'Active')).status).to.include({ binding: `ar-${request.metadata.uid}` });
    ahead = 0;
    await access.end({ as: 'alice' }, request);
  });

  it('ACP-06 is neither requested nor decided without the admission policies', async () => {
    const { policy, request } = await pending();
    await server.kubernetes.remove(`${admissionPolicies}/accessrequests.auth.platform.io`);
    const other = await server.replica();
    await eventually(
      () => access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as: 'bob', at: other.url }),
      ({ status }) => status === 200,
    );
    for (const answer of [
      await access.ask({ as: 'alice', at: other.url }, { policy }),
      await access.decide({ as: 'bob', at: other.url }, request),
    ]) {
      expect(answer.status, JSON.stringify(answer.body)).to.equal(503);
      expect(answer.body.details?.causes?.[0]?.reason).to.equal('AdmissionPolicyMissing');
    }
    expect((await access.end({ as: 'alice', at: other.url }, request)).status).to.equal(200);
    await server.kubernetes.install();
    await eventually(
      () => access.ask({ as: 'alice', at: other.url }, { policy }),
      ({ status }) => status === 201,
    );
    await other.stop();
  });
});
