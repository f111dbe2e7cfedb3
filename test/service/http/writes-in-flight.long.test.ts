import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { FaultProxy, holdAnswer, type ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aPolicy, type Request, user } from '../access-requests/support.ts';
import { aBinding, aNamespace } from '../bindings/support.ts';
import { aGroup } from '../groups/support.ts';
import type { Browser } from '../identity/browser.ts';
import { atCorp, beginLink, linksOf, send } from '../login/linking.ts';
import { TwoIssuers } from '../login/two-issuers.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const [manager, approver, linked] = ['manager@example.com', 'approver@example.com', 'linked@example.com'];
const requesters = Array.from({ length: 12 }, (_, index) => `requester-${index}@example.com`);
const users = '/auth/v1/users';
const accessRequests = '/auth/v1/accessrequests';
const ownUsers = '/apis/auth.platform.io/v1/users';
const password = 'quite another staple';
const json = 'application/json';
const merge = 'application/merge-patch+json';

/** Request of a browser. */
interface Sent {
  by: Browser;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
}

/** An operation that is audited. */
interface Operation {
  audit: string;
  /** Number of the first write that belongs to what is audited. Default: 1. */
  from?: number;
  /** Prepares the objects of one try, and returns the request. */
  prepare(): Promise<Sent>;
}

/** docs/contract/conventions.md: an operation that took effect is audited. */
describe('an operation whose caller leaves while the API server answers a write', () => {
  let faults: FaultProxy;
  const two = forSuite(() =>
    TwoIssuers.start(
      {},
      {
        emails: [manager, approver, linked, ...requesters],
        features: { accessTokens: true, accessRequests: true },
        between: async ({ url, certificateAuthority, serving }) => {
          faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
          return faults;
        },
      },
    ),
  );
  let office: Browser;
  before(async () => {
    const { admin } = two.service;
    await admin.apply(aNamespace('shop'));
    await admin.apply(clusterRoleBinding('manages', 'cluster-admin', { kind: 'User', name: manager }));
    await admin.apply(aPolicy('shop', { subjects: requesters.map(user), approvers: [user(approver)] }));
    office = await browserOf(manager);
  });

  const audited = (audit: string) => two.service.lines.filter((line) => line.includes(`"audit":"${audit}"`)).length;
  const browserOf = async (email: string) => (await two.logInHere('cookie', '&issuer=local', email)).browser;
  const shortRequests = async () =>
    (await (await fetch(`${two.service.metricsURL}/metrics`)).text()).match(/in_flight\{kind="short"\} (\d+)/)?.[1];

  /** The request for the metrics counts itself. */
  const isQuiet = (count: string | undefined) => count === '1';

  /** Sends a request. Its trace marks the calls to the API server that are made for it. */
  async function sent({ by, method, path, body }: Sent, trace: string, signal?: AbortSignal): Promise<number> {
    const cookies = by.cookies.filter((one) => one.path === '/').map(({ name, value }) => `${name}=${value}`);
    const headers = {
      cookie: cookies.join('; '),
      origin: two.service.url,
      traceparent: `00-${trace}-${'1'.repeat(16)}-01`,
      ...(body !== undefined && { 'content-type': method === 'PATCH' ? merge : json }),
    };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await two.service.request(path, { method, headers, ...content, ...(signal && { signal }) });
    await response.arrayBuffer();
    return response.status;
  }

  /** Leaves during the answer to a write of the operation. @returns the write, or the status if the operation ended before */
  async function leaveDuring(request: Sent, number: number): Promise<string | number> {
    const trace = randomBytes(16).toString('hex');
    const leaving = new AbortController();
    const reached = Promise.withResolvers<string>();
    const isLeft = Promise.withResolvers<void>();
    let writes = 0;
    faults.inject(
      ({ request: { method, path }, pass, response, reset }) => {
        writes += 1;
        if (writes !== number) return pass();
        holdAnswer(isLeft.promise)({
          request: {} as ProxiedRequest,
          response,
          reset,
          pass: (take) =>
            pass((answer) => {
              take?.(answer);
              reached.resolve(`${method} ${path}`);
            }),
        });
      },
      ({ method, path, headers }) => method !== 'GET' && !path.endsWith('reviews') && String(headers.traceparent).includes(trace),
    );
    await eventually(shortRequests, isQuiet);
    const answer = sent(request, trace, leaving.signal);
    const write = await Promise.race([reached.promise, answer]);
    leaving.abort();
    await answer.catch(() => undefined);
    await eventually(shortRequests, isQuiet);
    isLeft.resolve();
    faults.mend();
    return write;
  }

  let made = 0;
  const aName = () => {
    made += 1;
    return `one-${made}`;
  };
  /** Creates a user without a password, and waits until the service knows it. */
  const aNewUser = async (): Promise<string> => {
    const email = `${aName()}@example.com`;
    await two.service.admin.apply(aUser(email));
    await eventually(
      async () => (await send(two, office, 'GET', `${users}/${nameOf(email)}`)).status,
      (status) => status === 200,
    );
    return email;
  };
  const aNewGroup = async () => {
    const name = aName();
    await two.service.admin.apply(aGroup(name));
    await eventually(
      async () => (await send(two, office, 'GET', `/auth/v1/groups/${name}`)).status,
      (status) => status === 200,
    );
    return name;
  };
  const aNewRequest = async (): Promise<[Browser, string]> => {
    made += 1;
    const by = await browserOf(requesters[made % requesters.length] ?? '');
    const { body } = await send(two, by, 'GET', accessRequests);
    for (const { metadata } of (body as { items: Request[] }).items) await send(two, by, 'POST', `${accessRequests}/${metadata.name}/end`);
    const asked = await send(two, by, 'POST', accessRequests, ask);
    expect(asked.status, asked.text).to.equal(201);
    return [by, `${accessRequests}/${(asked.body as Request).metadata.name}`];
  };
  /** Returns the request that links a new account of `corp` to a user without one. */
  const anAccount = async (): Promise<Sent> => {
    const status = { subjects: null };
    await two.service.admin.call('PATCH', `${ownUsers}/${nameOf(linked)}/status`, { status }, { 'content-type': merge });
    two.corp.person = atCorp(aName());
    const by = await browserOf(linked);
    await eventually(
      () => linksOf(two, by),
      (links) => links.every(({ isFirst }) => isFirst),
    );
    const { answer } = await beginLink(two, by);
    return { by, method: 'GET', path: `/api/v2/token/callback?${answer}` };
  };
  const ask = { policy: 'shop', roleRef: 'view', scope: 'namespace', namespaces: ['shop'], reason: 'it is down', durationSeconds: 600 };
  const ofOffice = (method: Sent['method'], path: string, body?: unknown): Sent => ({ by: office, method, path, body });

  const operations: Readonly<Record<string, Operation>> = {
    'creates a user': {
      audit: 'UserCreated',
      prepare: async () =>
        ofOffice('POST', users, { apiVersion: 'auth.platform.io/v1', kind: 'User', spec: { email: `${aName()}@example.com`, password } }),
    },
    'changes a user': {
      audit: 'UserPatched',
      prepare: async () => ofOffice('PATCH', `${users}/${nameOf(await aNewUser())}`, { spec: { username: 'Ada L.' } }),
    },
    'disables a user': {
      audit: 'UserPatched',
      prepare: async () => ofOffice('PATCH', `${users}/${nameOf(await aNewUser())}`, { spec: { is_disabled: true } }),
    },
    'sets a password': {
      audit: 'PasswordReset',
      prepare: async () => ofOffice('PATCH', `${users}/${nameOf(await aNewUser())}`, { spec: { password } }),
    },
    'removes the accounts of a user': {
      audit: 'UserSubjectsDeleted',
      async prepare() {
        const name = nameOf(await aNewUser());
        const status = { subjects: [{ issuer: two.corp.issuer, sub: `${name}-at-corp` }] };
        await two.service.admin.call('PATCH', `${ownUsers}/${name}/status`, { status }, { 'content-type': merge });
        return ofOffice('DELETE', `${users}/${name}/subjects`);
      },
    },
    'deletes a user': {
      audit: 'UserDeleted',
      // A dry run comes first.
      from: 2,
      prepare: async () => ofOffice('DELETE', `${users}/${nameOf(await aNewUser())}`),
    },
    'removes the factors of a user': {
      audit: 'FactorsReset',
      prepare: async () => ofOffice('DELETE', `${users}/${nameOf(await aNewUser())}/factors`),
    },
    'revokes links': {
      audit: 'LinksEnded',
      prepare: async () => ofOffice('DELETE', `${users}/${nameOf(await aNewUser())}/links`),
    },
    'creates an access token': {
      audit: 'AccessTokenCreated',
      prepare: async () => ({
        by: await browserOf(requesters[0] ?? ''),
        method: 'POST',
        path: '/auth/v1/accesstoken',
        body: { description: 'ci' },
      }),
    },
    'deletes an access token': {
      audit: 'AccessTokenDeleted',
      async prepare() {
        const by = await browserOf(requesters[1] ?? '');
        await send(two, by, 'POST', '/auth/v1/accesstoken', { description: 'ci' });
        const { body } = await send(two, by, 'GET', '/auth/v1/accesstokens');
        const [token] = (body as { items: { metadata: { name: string } }[] }).items;
        return { by, method: 'DELETE', path: `/auth/v1/accesstokens/${token?.metadata.name}` };
      },
    },
    'ends a session': {
      audit: 'SessionDeleted',
      async prepare() {
        const { body } = await send(two, await browserOf(requesters[2] ?? ''), 'GET', '/auth/v1/sessions');
        const [session] = (body as { items: { metadata: { name: string } }[] }).items;
        return ofOffice('DELETE', `/auth/v1/sessions/${session?.metadata.name}`);
      },
    },
    'ends the sessions of a user': {
      audit: 'SessionDeleted',
      async prepare() {
        await browserOf(requesters[3] ?? '');
        return ofOffice('DELETE', `/auth/v1/sessions?user=${nameOf(requesters[3] ?? '')}`);
      },
    },
    'links an account': {
      audit: 'SubjectLinked',
      // The login is marked as used, and the account claimed.
      from: 3,
      prepare: anAccount,
    },
    'unlinks an account': {
      audit: 'SubjectUnlinked',
      async prepare() {
        const callback = await anAccount();
        expect((await send(two, callback.by, 'GET', callback.path)).status).to.equal(200);
        const link = (await linksOf(two, callback.by)).find(({ isFirst }) => !isFirst);
        return { ...callback, method: 'DELETE', path: `/auth/v1/links/${link?.id}` };
      },
    },
    'creates a group': {
      audit: 'GroupCreated',
      prepare: async () =>
        ofOffice('POST', '/auth/v1/groups', { metadata: { name: aName() }, spec: { users: [{ name: nameOf(linked) }] } }),
    },
    'changes a group': {
      audit: 'GroupPatched',
      prepare: async () => ofOffice('PATCH', `/auth/v1/groups/${await aNewGroup()}`, { metadata: { labels: { team: 'shop' } } }),
    },
    'adds a member': {
      audit: 'GroupMembersChanged',
      prepare: async () => ofOffice('POST', `/auth/v1/groups/${await aNewGroup()}/members`, { names: [nameOf(linked)] }),
    },
    'deletes a group': {
      audit: 'GroupDeleted',
      prepare: async () => ofOffice('DELETE', `/auth/v1/groups/${await aNewGroup()}`),
    },
    'creates a UserBinding': {
      audit: 'UserBindingCreated',
      // A dry run asks whether the caller may bind the role.
      from: 2,
      prepare: async () => ofOffice('POST', '/auth/v2/userbindings', aBinding(aName())),
    },
    'deletes a UserBinding': {
      audit: 'UserBindingDeleted',
      async prepare() {
        const name = aName();
        await two.service.admin.apply(aBinding(name));
        await eventually(
          async () => (await send(two, office, 'GET', `/auth/v2/userbindings/${name}`)).status,
          (status) => status === 200,
        );
        return ofOffice('DELETE', `/auth/v2/userbindings/${name}`);
      },
    },
    'asks for a role': {
      audit: 'AccessRequested',
      async prepare() {
        const [by, path] = await aNewRequest();
        expect((await send(two, by, 'POST', `${path}/end`)).status).to.equal(200);
        return { by, method: 'POST', path: accessRequests, body: ask };
      },
    },
    'decides on a request': {
      audit: 'AccessDecided',
      async prepare() {
        const [, path] = await aNewRequest();
        return { by: await browserOf(approver), method: 'POST', path: `${path}/decision`, body: { approve: true } };
      },
    },
    'ends access': {
      audit: 'AccessEnded',
      async prepare() {
        const [by, path] = await aNewRequest();
        const decided = await send(two, await browserOf(approver), 'POST', `${path}/decision`, { approve: true });
        expect(decided.status, decided.text).to.equal(200);
        return { by, method: 'POST', path: `${path}/end` };
      },
    },
  };

  for (const [what, { audit, from = 1, prepare }] of Object.entries(operations))
    it(`is audited if it ${what}`, async () => {
      for (let number = from; ; number += 1) {
        const request = await prepare();
        const before = audited(audit);
        const write = await leaveDuring(request, number);
        if (typeof write === 'number') {
          expect(write, 'status').to.be.within(200, 204);
          expect(number, 'writes of the operation').to.be.greaterThan(from);
          return;
        }
        await eventually(
          () => audited(audit),
          (count) => count > before,
          10_000,
        ).catch(() => expect.fail(`${audit} is not recorded: the caller left during write ${number}, ${write}`));
      }
    });
});
