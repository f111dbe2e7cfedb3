/** Break-glass: access at once, counted, reported and reviewed, at two replicas. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, isAllowed } from '../../support/grants.ts';
import { aNamespace } from '../bindings/support.ts';
import { Clock } from '../login/support.ts';
import { nameOf } from '../users/a-user.ts';
import { type Member, password, SessionRequests, warningsOf } from './sessions.ts';
import { aPolicy, aRequest, fieldsOf, mergePatch, policiesPath, type Request, reasonsOf, requestsPath, user } from './support.ts';

const users = '/apis/auth.platform.io/v1/users';
const [jane, kim, lee, carl, dora] = ['jane', 'kim', 'lee', 'carl', 'dora'].map((name) => `${name}@example.com`) as [
  string,
  string,
  string,
  string,
  string,
];
const places = Array.from({ length: 12 }, (_, index) => `place-${index}`);
const glass = {
  subjects: [jane, kim, lee].map(user),
  scope: { cluster: true },
  maxSeconds: 14_400,
  approvers: [carl, dora, jane].map(user),
  requireStepUp: true,
  breakGlass: true,
};
const asked = {
  policy: 'glass',
  roleRef: 'view',
  scope: 'namespace',
  namespaces: ['shop'],
  reason: 'the shop is down',
  durationSeconds: 600,
};
const broken = { ...asked, breakGlass: true };

describe('break-glass', () => {
  const clock = new Clock();
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, kim, lee, carl, dora],
      password,
      credentials: 'impersonate',
      features: { accessRequests: true },
      accessRequests: { maxOpen: 20 },
      login: { stepUp: { maxAge: '5m' } },
      now: clock.now,
      replicas: 2,
    }),
  );
  let sessions: SessionRequests;
  let members: Record<'jane' | 'kim' | 'lee' | 'carl' | 'dora', Member>;
  before(async () => {
    sessions = new SessionRequests(service);
    await service.admin.apply(aNamespace('shop'), ...places.map((place) => aNamespace(place)));
    const logIn = (email: string) => sessions.logIn(email);
    members = { jane: await logIn(jane), kim: await logIn(kim), lee: await logIn(lee), carl: await logIn(carl), dora: await logIn(dora) };
    const policies = [aPolicy('glass', glass), aPolicy('no-glass', { ...glass, breakGlass: false })];
    await sessions.apply(policies, [members.jane, members.kim, members.lee]);
  });
  afterEach(() => clock.reset());

  const storedUser = async (email: string) =>
    (await service.admin.call('GET', `${users}/${nameOf(email)}`)).body as { metadata: { uid: string }; status: { breakGlass?: string[] } };
  const usesOf = async (email: string) => ((await storedUser(email)).status.breakGlass ?? []).length;
  const forget = (email: string, breakGlass: readonly string[] = []) =>
    service.admin.call('PATCH', `${users}/${nameOf(email)}/status`, { status: { breakGlass } }, mergePatch);
  const auditOf = ({ metadata: { name } }: Request) =>
    service.lines.flatMap((line) => {
      const event = line.includes('"audit"') ? (JSON.parse(line) as { audit?: string; target?: string; actor?: { name: string } }) : {};
      return event.target === name ? [{ audit: event.audit, actor: event.actor?.name }] : [];
    });
  const unreviewed = async () => {
    const text = await (await fetch(`${service.metricsURL}/metrics`)).text();
    return Number(/^atrium_break_glass_unreviewed (\S+)$/m.exec(text)?.[1]);
  };
  const untilUnreviewed = (count: number) => eventually(unreviewed, (found) => found === count);

  it('gives a role at once beside a request that waits, tells of it, and is reviewed once', async () => {
    await untilUnreviewed(0);
    const waiting = await sessions.posted(members.jane, '', asked);
    expect(waiting.status).to.include({ phase: 'Pending' });
    expect(waiting.spec).to.include({ breakGlass: false });

    const used = await sessions.posted(members.jane, '', broken);
    expect(used.status).to.include({ phase: 'Active' });
    expect(used.spec).to.include({ breakGlass: true, approvals: 1 });
    await eventually(
      () => isAllowed(service.admin, jane, { verb: 'list', group: '', resource: 'pods', ...{ namespace: 'shop' } }),
      Boolean,
    );
    expect((await sessions.stored(waiting)).status).to.include({ phase: 'Pending' });

    const record = await storedUser(jane);
    expect(record.status.breakGlass).to.have.lengthOf(1);
    for (const uid of [used.metadata.uid, record.metadata.uid])
      expect((await warningsOf(service.admin, uid, 'BreakGlassUsed')).join()).to.include(
        `jane@example.com uses break-glass of glass: view in shop until ${used.status?.until}`,
      );
    await untilUnreviewed(1);

    const { name } = used.metadata;
    await eventually(
      () => sessions.inbox(members.carl),
      (names) => names.includes(name),
    );
    expect(await sessions.inbox(members.jane)).not.to.include(name);
    const unknown = await sessions.post(members.kim, `/${name}/review`, {});
    expect(unknown.status).to.equal(404);
    const reviewed = await sessions.posted(members.carl, `/${name}/review`, { comment: 'the shop was down' });
    expect(reviewed.status?.review).to.include({ by: carl, record: nameOf(carl), comment: 'the shop was down' });
    expect((await sessions.post(members.dora, `/${name}/review`, {})).status).to.equal(409);
    await untilUnreviewed(0);
    expect(await sessions.inbox(members.carl)).not.to.include(name);
    expect(auditOf(used)).to.have.deep.members([
      { audit: 'AccessRequested', actor: jane },
      { audit: 'BreakGlassUsed', actor: jane },
      { audit: 'AccessGranted', actor: undefined },
      { audit: 'BreakGlassReviewed', actor: carl },
      { audit: 'AccessRefused', actor: dora },
    ]);
    for (const request of [used, waiting]) await sessions.posted(members.jane, `/${request.metadata.name}/end`);
  });

  it('JIT-03 is not reviewed by its user, who is an approver, too', async () => {
    const used = await sessions.posted(members.jane, '', broken);
    const other = await sessions.logIn(jane);
    for (const member of [members.jane, other]) {
      const own = await sessions.post(member, `/${used.metadata.name}/review`, {});
      expect([own.status, ...reasonsOf(own)]).to.deep.equal([403, 'OwnRequest']);
    }
    await sessions.posted(members.jane, `/${used.metadata.name}/end`);
    await sessions.posted(members.carl, `/${used.metadata.name}/review`, {});
  });

  it('is reviewed once, if approvers of two replicas do so at once', async () => {
    const used = await sessions.posted(members.jane, '', broken);
    const [first = '', second = ''] = service.urls;
    await eventually(
      () => service.request(`/auth/v1/accessrequests/${used.metadata.name}`, { headers: members.dora.headers }, second),
      ({ status }) => status === 200,
    );
    const path = `/${used.metadata.name}/review`;
    const answers = await Promise.all([
      sessions.post(members.carl, path, {}, first),
      sessions.post(members.dora, path, { comment: 'fine' }, second),
    ]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409]);
    await sessions.posted(members.jane, `/${used.metadata.name}/end`);
    await forget(jane);
  });

  it('JIT-09 is refused for another role, for two hours, for later, without the policy, and after an old login', async () => {
    const refused = async (body: object) => {
      const answer = await sessions.post(members.lee, '', { ...broken, ...body });
      return [answer.status, ...fieldsOf(answer)];
    };
    const notBefore = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    expect(await refused({ roleRef: 'edit' })).to.deep.equal([422, 'roleRef']);
    expect(await refused({ durationSeconds: 7200 })).to.deep.equal([422, 'durationSeconds']);
    expect(await refused({ notBefore })).to.deep.equal([422, 'notBefore']);
    expect(await refused({ policy: 'no-glass' })).to.deep.equal([422, 'breakGlass']);
    clock.advance(360);
    const stale = await sessions.post(members.lee, '', broken);
    expect([stale.status, ...reasonsOf(stale)]).to.deep.equal([401, 'StepUpRequired']);
    clock.reset();
    expect(await usesOf(lee)).to.equal(0);
  });

  it('costs no use in a dry run, and for a ticket that the API server refuses', async () => {
    await sessions.apply([aPolicy('ticket', { ...glass, ticketPattern: 'OPS-[0-9]+' })], [members.lee]);
    const wrong = await sessions.post(members.lee, '', { ...broken, policy: 'ticket', ticket: 'none' });
    expect([wrong.status, ...fieldsOf(wrong)]).to.deep.equal([422, 'ticket']);
    const dry = await sessions.post(members.lee, '?dryRun=All', broken);
    expect(dry.status, JSON.stringify(dry.body)).to.equal(201);
    expect(await usesOf(lee)).to.equal(0);
  });

  it('JIT-09 passes three times of twelve at once at two replicas, and again a day later', async () => {
    const answers = await Promise.all(
      places.map((place, index) => sessions.post(members.kim, '', { ...broken, namespaces: [place] }, service.urls[index % 2])),
    );
    const codes = answers.map(({ status }) => status).sort();
    expect(codes, JSON.stringify(answers.map(({ body }) => body))).to.deep.equal([...Array(3).fill(201), ...Array(9).fill(429)]);
    expect(await usesOf(kim)).to.equal(3);
    const given = answers.flatMap(({ status, body }) => (status === 201 ? [body] : []));
    for (const request of given) expect(request.status).to.include({ phase: 'Active' });
    const late = await sessions.post(members.kim, '?dryRun=All', broken);
    expect([late.status, late.body.message]).to.deep.equal([
      429,
      'break-glass is possible 3 times in 24 hours: ask for an approval, or wait',
    ]);

    const yesterday = new Date(Date.now() - 86_401_000).toISOString().replace(/\.\d+Z$/, 'Z');
    await forget(kim, [yesterday, yesterday, yesterday]);
    const again = await sessions.posted(members.kim, '', broken);
    expect((await storedUser(kim)).status.breakGlass)
      .to.have.lengthOf(1)
      .and.not.include(yesterday);
    for (const request of [...given, again]) await sessions.posted(members.kim, `/${request.metadata.name}/end`);
  });

  it('ends when its policy no longer allows it, and is reviewed by administrators once the policy is deleted', async () => {
    await sessions.apply([aPolicy('narrowed', glass)], [members.lee]);
    const used = await sessions.posted(members.lee, '', { ...broken, policy: 'narrowed' });
    await service.admin.call('PATCH', `${policiesPath}/narrowed`, { spec: { breakGlass: false } }, mergePatch);
    expect((await sessions.untilPhase(used, 'Ended')).status).to.include({ reason: 'PolicyChanged' });

    await service.admin.apply(clusterRoleBinding('admins-of-access', 'cluster-admin', user(dora)));
    await service.admin.remove(`${policiesPath}/narrowed`);
    const path = `/${used.metadata.name}/review`;
    const reviewed = await eventually(
      () => sessions.post(members.dora, path, {}),
      ({ status }) => status === 200,
    );
    expect(reviewed.body.status?.review).to.include({ by: dora });
    expect((await sessions.post(members.carl, path, {})).status).to.equal(404);
    await service.admin.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/admins-of-access');
  });

  it('is completed and told once by the leader, if its replica stops in between', async () => {
    const name = 'areq-00000000000000b9';
    const [{ metadata }, policy, role] = await Promise.all([
      storedUser(lee),
      service.admin.call('GET', `${policiesPath}/glass`),
      service.admin.call('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'),
    ]);
    const { uid } = (policy.body as Request).metadata;
    const made = await service.admin.call(
      'POST',
      requestsPath,
      aRequest(name, {
        requester: lee,
        record: nameOf(lee),
        recordUID: metadata.uid,
        policy: { name: 'glass', uid, generation: 1 },
        subject: user(lee),
        roleUID: (role.body as Request).metadata.uid,
        breakGlass: true,
      }),
      asService,
    );
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const request = made.body as Request;
    clock.advance(30);
    await service.admin.call('PATCH', `${users}/${nameOf(lee)}`, { spec: { username: 'Lee' } }, mergePatch);
    await sessions.untilPhase(request, 'Active');
    expect(await warningsOf(service.admin, request.metadata.uid, 'BreakGlassUsed')).to.have.lengthOf(1);
    expect(auditOf(request).filter(({ audit }) => audit === 'BreakGlassUsed')).to.deep.equal([
      { audit: 'BreakGlassUsed', actor: undefined },
    ]);
  });
});
