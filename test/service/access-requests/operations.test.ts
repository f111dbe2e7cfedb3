/** Requests, decisions and their access, through the assembled service; alice asks, bob and carol decide. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, isAllowed } from '../../support/grants.ts';
import { leaveAfterWrite } from '../../support/leave-after-write.ts';
import { startServer } from '../../support/server.ts';
import { aGroup, aNamespace, applyKnown, bindingsPath } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { AccessRequests, aPolicy, fieldsOf, mergePatch, policiesPath, type Request, reasonsOf, requestsPath, user } from './support.ts';

const config = { features: { accessRequests: true } };
const subjects = [user('alice')];
const approvers = [user('bob'), user('carol')];
const pods = { verb: 'list', group: '', resource: 'pods' };

describe('access requests', () => {
  const server = forSuite(() => startServer({ config }));
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'), aNamespace('bar'), aNamespace('labelled'));
    const people = ['alice', 'bob', 'carol', 'viewer'].map((name) => aUser(`${name}@example.com`, { subjectName: name }));
    await applyKnown(server, ...people);
    await access.apply(aPolicy('shop', { subjects, approvers }));
  });
  const bindingOf = async ({ metadata: { uid } }: Request) => server.kubernetes.call('GET', `${bindingsPath}/ar-${uid}`);
  /** Asks, and ends the request after the test. */
  const asked = async (spec: Record<string, unknown> = {}) => access.asked({ as: 'alice' }, spec);
  const mayListPods = (namespace = 'shop') => isAllowed(server.kubernetes, 'alice', { ...pods, ...{ namespace } });

  it('give a role after the approval, and take it when the user ends it', async () => {
    const request = await asked();
    expect(request.status).to.include({ phase: 'Pending' });
    expect(request.spec).to.include({
      cluster: 'local',
      requester: 'alice',
      record: nameOf('alice@example.com'),
      roleRef: 'view',
      approvals: 1,
    });

    const approved = await access.decide({ as: 'bob' }, request);
    expect(approved.status, JSON.stringify(approved.body)).to.equal(200);
    expect(approved.body.status).to.include({ phase: 'Active', binding: `ar-${request.metadata.uid}` });
    expect(approved.body.status?.decisions?.[0]).to.include({ by: 'bob', approve: true, isVoid: false });
    const { begin = '', until = '' } = approved.body.status ?? {};
    expect(Date.parse(until) - Date.parse(begin)).to.equal(600_000);
    await eventually(() => mayListPods(), Boolean);
    expect(await mayListPods('bar')).to.equal(false);

    const ended = await access.end({ as: 'alice' }, request);
    expect(ended.status, JSON.stringify(ended.body)).to.equal(200);
    expect(ended.body.status).to.include({ phase: 'Ended', reason: 'EndedByUser', endedBy: 'alice' });
    expect((await bindingOf(request)).status).to.equal(404);
    await eventually(
      () => mayListPods(),
      (isAllowed) => !isAllowed,
    );
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);
    const events = server.auditLines.map((line) => JSON.parse(line)).filter(({ target }) => target === request.metadata.name);
    expect(events.map(({ audit }) => audit)).to.deep.equal(['AccessRequested', 'AccessGranted', 'AccessDecided', 'AccessEnded']);
    expect(events[1].access).to.include({ requester: 'alice', policy: 'shop', role: 'view', until });
  });

  it('are audited although the caller disconnects before the replica sees the write', async () => {
    const before = server.auditLines.length;
    const own = () => server.auditLines.slice(before).map((line) => JSON.parse(line));
    const left = async (as: 'alice' | 'bob', path: string, body: object, audit: string): Promise<string> => {
      await leaveAfterWrite((signal) => server.request(`/auth/v1/accessrequests${path}`, { as, method: 'POST', body, signal }));
      const events = await eventually(
        async () => own().filter((event) => event.audit === audit),
        ({ length }) => length > 0,
      );
      expect(events).to.have.lengthOf(1);
      return events[0].target;
    };
    const reason = 'the shop is down';
    const body = { policy: 'shop', roleRef: 'view', scope: 'namespace', namespaces: ['shop'], reason, durationSeconds: 600 };
    const name = await left('alice', '', body, 'AccessRequested');
    const { body: found } = await access.call('GET', `/auth/v1/accessrequests/${name}`, { as: 'alice' });
    expect(found.status).to.include({ phase: 'Pending' });
    await left('bob', `/${name}/decision`, { approve: true }, 'AccessDecided');
    await left('alice', `/${name}/end`, {}, 'AccessEnded');
    expect((await access.end({ as: 'alice' }, found)).status).to.equal(200);
  });

  it('lapse with their reason if the policy no longer selects 20 namespaces with long names', async () => {
    const namespaces = Array.from({ length: 20 }, (_, index) => `long-${index + 10}`.padEnd(63, 'x'));
    const labelled = (squad: string) => namespaces.map((name) => ({ ...aNamespace(name), metadata: { name, labels: { squad } } }));
    await server.kubernetes.apply(...labelled('shop'));
    await access.apply(aPolicy('squad', { subjects, approvers, scope: { namespaces: { selector: { matchLabels: { squad: 'shop' } } } } }));
    const request = await access.asked({ as: 'alice' }, { policy: 'squad', namespaces });
    for (const { metadata } of labelled('other'))
      await server.kubernetes.call('PATCH', `/api/v1/namespaces/${metadata.name}`, { metadata }, mergePatch);
    const { status } = (await access.decide({ as: 'bob' }, request)).body;
    expect(status).to.include({ phase: 'Lapsed', reason: 'PolicyChanged' });
  });

  it('are counted by phase, with the age of the oldest one that waits', async () => {
    const metric = async (name: string) => {
      const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.slice(name.length),
      );
    };
    const pending = 'atrium_access_requests{phase="Pending"}';
    await access.apply(aPolicy('counted', { subjects, approvers }));
    const request = await asked({ policy: 'counted' });
    expect(await metric(pending)).to.equal(1);
    expect(await metric('atrium_access_request_wait_seconds')).to.be.within(0.001, 600);
    await access.end({ as: 'alice' }, request);
    expect(await metric('atrium_access_request_wait_seconds')).to.equal(0);
    expect(await metric('atrium_access_requests{phase="Withdrawn"}')).to.be.at.least(1);
  });

  it('give nothing after a denial', async () => {
    const request = await asked();
    const denied = await access.decide({ as: 'carol' }, request, false);
    expect(denied.body.status).to.include({ phase: 'Denied', endedBy: 'carol' });
    const late = await access.decide({ as: 'bob' }, request);
    expect(late.status).to.equal(409);
    expect((await bindingOf(request)).status).to.equal(404);
  });

  it('show when they ended, to callers, in lists and in the columns of kubectl', async () => {
    const denied = await asked();
    await access.decide({ as: 'bob' }, denied, false);
    const given = await asked();
    await access.decide({ as: 'bob' }, given);
    await access.end({ as: 'bob' }, given);
    const open = await asked();
    const ended = new Map<string, string>();
    for (const request of [denied, given]) ended.set(request.metadata.name, (await access.stored(request)).status?.ended ?? '');
    const list = (await (await server.request('/auth/v1/accessrequests', { as: 'alice' })).json()) as { items: Request[] };
    const { body } = await server.kubernetes.call('GET', requestsPath, undefined, {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
    });
    const { columnDefinitions, rows } = body as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
    const cellOf = (name: string, column = 'Ended') =>
      rows.find(({ cells }) => cells[0] === name)?.cells[columnDefinitions.findIndex((one) => one.name === column)];

    for (const [name, time] of ended) {
      expect(time, name).to.match(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
      expect((await access.call('GET', `/auth/v1/accessrequests/${name}`, { as: 'alice' })).body.status?.ended).to.equal(time);
      expect(list.items.find(({ metadata }) => metadata.name === name)?.status?.ended).to.equal(time);
      expect(cellOf(name)).to.equal(time);
    }
    const { begin = '', until } = (await access.stored(given)).status ?? {};
    expect(until).to.equal(ended.get(given.metadata.name));
    expect(Date.parse(begin)).to.be.at.most(Date.parse(until ?? ''));
    expect(cellOf(given.metadata.name, 'Until')).to.equal(until);
    expect(cellOf(denied.metadata.name, 'Until')).to.be.oneOf([null, '']);
    expect((await access.stored(open)).status).to.not.have.property('ended');
    expect(cellOf(open.metadata.name)).to.be.oneOf([null, '']);
    await access.end({ as: 'alice' }, open);
  });

  it('are withdrawn by their user, and not ended by others while they are pending', async () => {
    const request = await asked();
    expect((await access.end({ as: 'bob' }, request)).status).to.equal(409);
    expect((await access.end({ as: 'viewer' }, request)).status).to.equal(404);
    expect((await access.end({ as: 'alice' }, request)).body.status).to.include({ phase: 'Withdrawn' });
    const events = server.auditLines.map((line) => JSON.parse(line)).filter(({ target }) => target === request.metadata.name);
    expect(events.at(-1)).to.include({ audit: 'AccessEnded', reason: 'Withdrawn' });
    expect((await access.decide({ as: 'bob' }, request)).status).to.equal(409);
  });

  it('begin at the time that was asked for', async () => {
    const notBefore = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const request = await asked({ notBefore });
    const approved = await access.decide({ as: 'bob' }, request);
    expect(approved.body.status).to.include({ phase: 'Scheduled', begin: notBefore });
    const { body } = await bindingOf(request);
    expect(body).to.have.property('spec').that.includes({ notBefore });
    expect((await access.end({ as: 'bob' }, request)).body.status).to.include({ phase: 'Ended', endedBy: 'bob' });
  });

  it('check everything in a dry run, and store nothing', async () => {
    const count = async () => ((await server.kubernetes.call('GET', requestsPath)).body as { items: [] }).items.length;
    const before = await count();
    const body = {
      policy: 'shop',
      roleRef: 'view',
      scope: 'namespace',
      namespaces: ['shop'],
      reason: 'the shop is down',
      durationSeconds: 600,
    };
    const dry = await access.call('POST', '/auth/v1/accessrequests?dryRun=All', { as: 'alice', body });
    expect(dry.status, JSON.stringify(dry.body)).to.equal(201);
    expect(await count()).to.equal(before);
  });

  it('JIT-03 are not decided by their user, and not by others than approvers', async () => {
    const request = await asked();
    const own = await access.decide({ as: 'alice' }, request);
    expect([own.status, ...reasonsOf(own)]).to.deep.equal([403, 'OwnRequest']);
    const line = server.auditLines
      .map((text) => JSON.parse(text))
      .find(({ audit, target }) => audit === 'AccessRefused' && target === request.metadata.name);
    expect(line).to.deep.include({ target: request.metadata.name, outcome: 'failure', code: 403, reason: 'OwnRequest' });
    expect(line).to.have.property('actor').that.includes({ name: 'alice' });
    expect(line.access).to.deep.include({ requester: 'alice', policy: 'shop', role: 'view', namespaces: ['shop'] });
    expect((await access.decide({ as: 'viewer' }, request)).status).to.equal(404);
    await server.kubernetes.apply(aUser('admin@example.com', { subjectName: 'admin' }));
    const admin = await eventually(
      () => access.decide({ as: 'admin' }, request),
      (answer) => !reasonsOf(answer).includes('NoRecord'),
    );
    expect([admin.status, ...reasonsOf(admin)]).to.deep.equal([403, 'NotApprover']);
    await access.end({ as: 'alice' }, request);
  });

  it('are recorded when they are refused, without names that only the caller wrote', async () => {
    const before = server.auditLines.length;
    expect((await access.ask({ as: 'alice' }, { policy: 'canary', roleRef: 'canary' })).status).to.equal(422);
    expect((await access.ask({ as: 'alice' }, { roleRef: 'canary' })).status).to.equal(422);
    const lines = server.auditLines.slice(before).filter((line) => line.includes('"AccessRefused"'));
    expect(lines).to.have.length(2);
    expect(lines.join()).not.to.contain('canary');
    expect(JSON.parse(lines[1] ?? '').access).to.include({ requester: 'alice', policy: 'shop', role: '' });
  });

  it('JIT-12 count a repeated decision once, and refuse its opposite', async () => {
    await access.apply(aPolicy('two', { subjects, approvers, approvals: 2 }));
    const request = await asked({ policy: 'two' });
    for (let time = 0; time < 2; time += 1) {
      const answer = await access.decide({ as: 'bob' }, request);
      expect([answer.status, answer.body.status?.phase, answer.body.status?.decisions?.length]).to.deep.equal([200, 'Pending', 1]);
    }
    expect((await access.decide({ as: 'bob' }, request, false)).status).to.equal(409);
    await access.end({ as: 'alice' }, request);
  });

  it('ACP-08 need the greater number of approvals of the request and of the policy', async () => {
    await access.apply(aPolicy('loosened', { subjects, approvers, approvals: 2 }));
    const request = await asked({ policy: 'loosened' });
    const spec = { approvals: 1, requireStepUp: true, approvers: [...approvers, user('viewer')] };
    const { body } = await server.kubernetes.call(
      'PATCH',
      `${policiesPath}/loosened`,
      { spec: { ...spec, requireStepUp: false } },
      mergePatch,
    );
    const { generation } = (body as { metadata: { generation: number } }).metadata;
    await eventually(
      () => server.request('/auth/v1/accesspolicies/loosened', { as: 'admin' }).then((answer) => answer.json()),
      (policy) => (policy as { metadata: { generation: number } }).metadata.generation === generation,
    );
    expect((await access.decide({ as: 'viewer' }, request)).body.status).to.include({ phase: 'Pending' });
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    await access.end({ as: 'alice' }, request);
  });

  it('JIT-06 void the approval of a user who is no longer an approver', async () => {
    await applyKnown(server, aGroup('deciders', [nameOf('bob@example.com')]));
    await access.apply(
      aPolicy('void', { subjects, approvers: [{ kind: 'Group', name: 'local:deciders' }, user('carol'), user('viewer')], approvals: 2 }),
    );
    const request = await asked({ policy: 'void' });
    await eventually(
      () => access.decide({ as: 'bob' }, request),
      ({ status }) => status === 200,
    );
    await server.kubernetes.call('PATCH', '/apis/auth.platform.io/v1/groups/deciders', { spec: { users: [] } }, mergePatch);
    await eventually(
      () => access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as: 'bob' }),
      ({ status }) => status === 404,
    );
    const second = await access.decide({ as: 'carol' }, request);
    expect(second.body.status).to.include({ phase: 'Pending' });
    expect(second.body.status?.decisions?.map(({ by, isVoid }) => [by, isVoid])).to.deep.equal([
      ['bob', true],
      ['carol', false],
    ]);
    expect((await access.decide({ as: 'viewer' }, request)).body.status).to.include({ phase: 'Active' });
    await access.end({ as: 'alice' }, request);
  });

  it('are 422 with every reason outside of the policy', async () => {
    const wrong = async (spec: Record<string, unknown>) => {
      const answer = await access.ask({ as: 'alice' }, spec);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(422);
      return fieldsOf(answer);
    };
    expect(await wrong({ roleRef: 'cluster-admin', durationSeconds: 7200, reason: null })).to.have.members([
      'roleRef',
      'durationSeconds',
      'reason',
    ]);
    expect(await wrong({ scope: 'platform', namespaces: null })).to.deep.equal(['scope']);
    expect(await wrong({ namespaces: ['shop', 'bar'] })).to.deep.equal(['namespaces[1]']);
    expect(await wrong({ notBefore: '2126-01-01T00:00:00Z' })).to.deep.equal(['notBefore']);
    expect(await wrong({ namespaces: null })).to.deep.equal(['namespaces']);
  });

  it('JIT-13 answer the same for a policy, a request or a namespace that is missing or hidden', async () => {
    await access.apply(aPolicy('of-others', { subjects: [user('viewer')], approvers }));
    const texts = async (...policies: string[]) =>
      Promise.all(
        policies.map(async (policy) => JSON.stringify((await access.ask({ as: 'alice' }, { policy })).body).replaceAll(policy, 'NAME')),
      );
    const [missing, hidden] = await texts('missing-one', 'of-others');
    expect(hidden).to.equal(missing);
    const gets = await Promise.all(
      ['missing-one', 'of-others'].map(async (name) =>
        JSON.stringify((await access.call('GET', `/auth/v1/accesspolicies/${name}`, { as: 'alice' })).body).replaceAll(name, 'NAME'),
      ),
    );
    expect(gets[0]).to.equal(gets[1]);

    const request = await access.asked({ as: 'viewer' }, { policy: 'of-others' });
    const names = [request.metadata.name, 'areq-0000000000000000'];
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/decision'],
      ['POST', '/end'],
      ['POST', '/review'],
    ] as const) {
      const answers = await Promise.all(
        names.map(async (name) => {
          const body = { '/decision': { approve: true }, '/review': {} }[path as string];
          const answer = await access.call(method, `/auth/v1/accessrequests/${name}${path}`, { as: 'alice', body });
          return `${answer.status} ${JSON.stringify(answer.body).replaceAll(name, 'NAME')}`;
        }),
      );
      expect(answers[0]).to.equal(answers[1]);
      expect(answers[0]).to.match(/^404 /);
    }
    await access.apply(
      aPolicy('by-label', { subjects, approvers, scope: { namespaces: { selector: { matchLabels: { team: 'shop' } } } } }),
    );
    const places = await Promise.all(
      ['labelled', 'nowhere'].map(async (name) =>
        JSON.stringify((await access.ask({ as: 'alice' }, { policy: 'by-label', namespaces: [name] })).body).replaceAll(name, 'NAME'),
      ),
    );
    expect(places[0]).to.equal(places[1]);
    expect(places[0]).to.include('"namespaces[0]"');
    await access.end({ as: 'viewer' }, request);
  });

  it('JIT-14 keep to the namespaces of the request, whatever label a namespace gets', async () => {
    const label = (name: string) =>
      server.kubernetes.call('PATCH', `/api/v1/namespaces/${name}`, { metadata: { labels: { crew: 'shop' } } }, mergePatch);
    await label('shop');
    await access.apply(aPolicy('crew', { subjects, approvers, scope: { namespaces: { selector: { matchLabels: { crew: 'shop' } } } } }));
    expect((await access.call('GET', '/auth/v1/accesspolicies/crew/namespaces', { as: 'alice' })).body)
      .to.include({ isAny: false })
      .and.to.deep.include({ items: ['shop'] });
    const request = await asked({ policy: 'crew' });
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    await label('bar');
    await eventually(() => mayListPods('shop'), Boolean);
    const { body } = await bindingOf(request);
    expect(body)
      .to.have.nested.property('spec.constraint')
      .that.deep.equals([{ namespace: 'shop' }]);
    expect(await mayListPods('bar')).to.equal(false);
    await access.end({ as: 'alice' }, request);
  });

  it('JIT-17 are for users with a record who may log in, and not too many', async () => {
    const stranger = await access.ask({ as: 'nobody' });
    expect([stranger.status, ...reasonsOf(stranger)]).to.deep.equal([403, 'NoRecord']);
    const service = await access.ask({ token: await server.kubernetes.serviceToken() });
    expect([service.status, ...reasonsOf(service)]).to.deep.equal([403, 'NoRecord']);

    await access.apply(aPolicy('many', { subjects: [user('viewer')], approvers, roleRefs: ['view'], scope: { cluster: true } }));
    const open = await Promise.all(
      Array.from({ length: 10 }, (_, index) => access.asked({ as: 'viewer' }, { policy: 'many', namespaces: [`n${index}`] })),
    );
    const tooMany = await access.ask({ as: 'viewer' }, { policy: 'many', namespaces: ['n11'] });
    expect(tooMany.status).to.equal(429);
    const again = await access.ask({ as: 'viewer' }, { policy: 'many', namespaces: ['n1'] });
    expect([again.status, ...reasonsOf(again)]).to.deep.equal([409, 'AlreadyOpen']);
    for (const request of open) await access.end({ as: 'viewer' }, request);
    expect((await access.ask({ as: 'viewer' }, { policy: 'many', namespaces: ['n11'] })).status).to.equal(201);
  });

  it('JIT-19 take plain texts alone', async () => {
    for (const reason of ['the shop\nis down now', 'the \u202eshop is down', 'the shop is\u0000 down', 'the shop\u200b is down']) {
      const answer = await access.ask({ as: 'alice' }, { reason });
      expect([answer.status, ...fieldsOf(answer)]).to.deep.equal([400, 'reason']);
    }
    const request = await asked({ reason: '<script>alert(1)</script> <!channel> [x](javascript:y)' });
    expect(request.spec).to.include({ reason: '<script>alert(1)</script> <!channel> [x](javascript:y)' });
    await access.end({ as: 'alice' }, request);
  });

  it('JIT-20 leave patterns of tickets to the API server', async () => {
    // The embedded cluster compares with the regular expressions of JavaScript, in this process.
    const length = process.env.TEST_CLUSTER === 'real' ? 128 : 16;
    await access.apply(aPolicy('ticket', { subjects, approvers, ticketPattern: '(a+)+b' }));
    const slow = await access.ask({ as: 'alice' }, { policy: 'ticket', ticket: 'a'.repeat(length) });
    expect([slow.status, ...fieldsOf(slow)]).to.deep.equal([422, 'ticket']);
    const missing = await access.ask({ as: 'alice' }, { policy: 'ticket' });
    expect([missing.status, ...fieldsOf(missing)]).to.deep.equal([422, 'ticket']);
    const request = await asked({ policy: 'ticket', ticket: 'aab' });
    await access.end({ as: 'alice' }, request);
  });

  it('ACP-05 are refused for a role that does not exist, or that the service may not bind', async () => {
    await access.apply(aPolicy('unbindable', { subjects, approvers, roleRefs: ['cluster-admin', 'missing-role'] }));
    const { body } = await server.kubernetes.call('GET', `${policiesPath}/unbindable`);
    const { conditions } = (body as { status: { conditions: { type: string; status: string; message: string }[] } }).status;
    expect(conditions.map(({ type, status }) => `${type} ${status}`)).to.have.members([
      'Ready False',
      'RolesFound False',
      'RolesBindable False',
    ]);
    for (const roleRef of ['cluster-admin', 'missing-role']) {
      const answer = await access.ask({ as: 'alice' }, { policy: 'unbindable', roleRef });
      expect([answer.status, ...fieldsOf(answer)]).to.deep.equal([422, 'roleRef']);
    }
  });

  it('are listed to their user, their approvers, and callers who may list all', async () => {
    const request = await asked();
    const { name } = request.metadata;
    const list = async (as: 'alice' | 'bob' | 'carol' | 'viewer' | 'admin' | 'nobody', query = '') => {
      const answer = await server.request(`/auth/v1/accessrequests?filterBy=phase,Pending${query}`, { as });
      const { items, total } = (await answer.json()) as { items: Request[]; total: number };
      expect(total).to.equal(items.length);
      return items.map((item) => item.metadata.name);
    };
    expect(await list('alice')).to.include(name);
    expect(await list('bob')).to.include(name);
    expect(await list('admin')).to.include(name);
    expect(await list('viewer')).not.to.include(name);
    expect(await list('nobody')).to.deep.equal([]);
    expect(await list('bob', '&inbox=true')).to.include(name);
    expect(await list('alice', '&inbox=true')).not.to.include(name);
    await access.decide({ as: 'bob' }, request);
    expect(await list('carol', '&inbox=true')).not.to.include(name);
    await access.end({ as: 'alice' }, request);
  });

  it('show approvers the current rules of the role', async () => {
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/edit';
    const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] });
    const setRule = (verb: string) => server.kubernetes.call('PATCH', role, { aggregationRule: null, rules: [rule(verb)] }, mergePatch);
    await access.apply(aPolicy('shown', { subjects, approvers, roleRefs: ['edit'] }));
    const request = await asked({ policy: 'shown', roleRef: 'edit' });
    const shown = async (as: 'alice' | 'bob' | 'admin') => {
      const { body } = await access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as });
      return (body as { role?: { rules: object[] } }).role;
    };
    for (const verb of ['get', 'list']) {
      await setRule(verb);
      expect((await shown('bob'))?.rules).to.deep.equal([{ ...rule(verb), resourceNames: [], nonResourceURLs: [] }]);
    }
    expect([await shown('alice'), await shown('admin')]).to.deep.equal([undefined, undefined]);
    await server.kubernetes.remove(role);
    expect(await shown('bob')).to.equal(undefined);
  });

  it('show policies without their subjects to users who may ask under them', async () => {
    await access.apply(aPolicy('not-for-alice', { subjects: [user('viewer')], approvers }));
    const answer = await server.request('/auth/v1/accesspolicies', { as: 'alice' });
    const text = await answer.text();
    const { items } = JSON.parse(text) as { items: { metadata: { name: string }; spec: object }[] };
    expect(items.map(({ metadata }) => metadata.name))
      .to.include('shop')
      .and.not.to.include('not-for-alice');
    expect(text).not.to.match(/"subjects"|"approvers"|"selector"|carol/);
    const all = await (await server.request('/auth/v1/accesspolicies', { as: 'admin' })).text();
    expect(all).to.include('"approvers"').and.to.include('not-for-alice');
    const one = await (await server.request('/auth/v1/accesspolicies/shop', { as: 'alice' })).text();
    expect(one).to.include('"maxSeconds":3600').and.not.to.include('carol');
  });

  it('ACP-07 keep the password of a user in a policy from user managers', async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
    await applyKnown(server, aUser('plain@example.com', { subjectName: 'plain@example.com' }));
    const reset = async (email: string) => {
      const body = { spec: { password: 'correct horse battery staple' } };
      return (await server.request(`/auth/v1/users/${nameOf(email)}`, { method: 'PATCH', as: 'manager', body })).status;
    };
    await eventually(
      () => reset('plain@example.com'),
      (status) => status === 200,
    );
    expect(await reset('bob@example.com')).to.equal(403);
    expect(await reset('alice@example.com')).to.equal(403);
    const body = { spec: { email: 'waited@example.com', password: 'correct horse battery staple' } };
    await access.apply(aPolicy('waits', { subjects: [user('waited@example.com')], approvers }));
    const made = await server.request('/auth/v1/users?dryRun=All', { method: 'POST', as: 'manager', body });
    expect(made.status).to.equal(403);
  });

  it('need a credential', async () => {
    const one = '/auth/v1/accessrequests/areq-0000000000000000';
    const operations = [
      ...['/auth/v1/accesspolicies', '/auth/v1/accesspolicies/shop', '/auth/v1/accesspolicies/shop/namespaces'].map((path) => [
        'GET',
        path,
      ]),
      ...['/auth/v1/accessrequests', one].map((path) => ['GET', path]),
      ...['/auth/v1/accessrequests', `${one}/decision`, `${one}/end`, `${one}/review`].map((path) => ['POST', path]),
    ];
    for (const [method = '', path = ''] of operations) {
      const without = await server.request(path, { method });
      const bad = await server.request(path, { method, token: `${await server.token('admin')}x` });
      expect([without.status, bad.status], path).to.deep.equal([401, 401]);
    }
  });

  it('refuse UserBindings of requests by callers of the service', async () => {
    const spec = { subjects: [user('alice')], roleRef: 'view', scope: 'platform', expiresAt: '2040-01-01T00:00:00Z' };
    const create = async (metadata: object, more: object) =>
      (await server.request('/auth/v2/userbindings', { method: 'POST', as: 'admin', body: { metadata, spec: { ...spec, ...more } } }))
        .status;
    expect(await create({ name: 'ar-mine' }, {})).to.equal(403);
    expect(await create({ name: 'mine' }, { request: { name: 'areq-1', uid: 'u', recordUID: 'r' } })).to.equal(422);
  });
});
