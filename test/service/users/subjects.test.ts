/** The way back of a user whose account was made again at the issuer (docs/contract/users.md). */

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Browser, logIn, type Reply } from '../login/provider/browser.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { refresh, session, tokens } from '../sessions/support.ts';
import { aUser, nameOf } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const accessTokens = '/apis/auth.platform.io/v1/accesstokens';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const madeToken = z.object({ id: z.string(), token: z.string() });
const record = z.object({
  status: z.looseObject({ subjects: z.array(z.object({ issuer: z.string(), sub: z.string() })).optional() }).optional(),
});
const tokenObject = z.object({ spec: z.object({ subject: z.object({ issuer: z.string(), sub: z.string() }).optional() }) });

const answers = ({ status, text }: Reply, wanted: number) => expect(status, text).to.equal(wanted);

const subjectsOf = (email: string) => `/auth/v1/users/${nameOf(email)}/subjects`;

/** Roles, bound to a person of the issuer. */
const managerOf = (name: string, ...rules: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[]) =>
  [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    clusterRoleBinding(name, name, { kind: 'User', name: `${name}@example.com` }),
  ] satisfies Manifest[];

const mayReset = { apiGroups: ['auth.platform.io'], resources: ['users/password'], verbs: ['update'] };
const mayBe = (...resourceNames: string[]) => ({ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames });

describe('DELETE /auth/v1/users/{name}/subjects', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 }, features: { accessTokens: true } } });
  let people = 0;

  const bearerOf = (name: string) =>
    party().provider.idToken({ claims: { sub: name, email: `${name}@example.com`, email_verified: true, groups: [] } });
  const person = (sub: string) => {
    const email = `person-${people}@example.com`;
    party().provider.person = { sub, email, email_verified: true, groups: ['dev'] };
    return email;
  };
  const call = (method: 'DELETE' | 'GET' | 'POST', path: string, bearer: string, body?: object): Promise<Reply> =>
    new Browser(party().service.url).request(path, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const forget = (email: string, as: string, query = '') => call('DELETE', `${subjectsOf(email)}${query}`, bearerOf(as));
  const me = (bearer: string) => call('GET', '/auth/v1/me', bearer);
  const makeToken = async (bearer: string) => {
    const reply = await call('POST', '/auth/v1/accesstoken', bearer, { description: 'ci' });
    answers(reply, 201);
    return madeToken.parse(reply.body);
  };
  const storedToken = async (id: string) => {
    const { status, body } = await party().cluster.kubernetes.call('GET', `${accessTokens}/${id}`);
    return status === 200 ? tokenObject.parse(body) : undefined;
  };
  const subjectsStored = async (email: string) => {
    const { body } = await party().cluster.kubernetes.call('GET', `${users}/${nameOf(email)}`);
    return record.parse(body).status?.subjects;
  };
  const writeSubjects = (email: string, subjects: unknown) =>
    party().cluster.kubernetes.call('PATCH', `${users}/${nameOf(email)}/status`, { status: { subjects } }, mergePatch);

  before(() =>
    party().cluster.kubernetes.apply(
      ...managerOf('helper', mayReset, { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }),
      ...managerOf('resetter', mayReset),
      ...managerOf('actor', { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }),
      ...managerOf('narrow', mayReset, mayBe('person-1000@example.com')),
    ),
  );
  beforeEach(() => {
    people += 1;
  });

  it('REC-07 lets a person whose account was made again log in, and ends all that the account before has opened', async () => {
    const { service, provider } = party();
    const email = person('before');
    const kept = await tokens(service);
    const { browser, handle } = await session(service);
    const { id, token } = await makeToken(kept.bearer);
    answers(await me(token), 200);
    person('after');
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');

    const reply = await forget(email, 'helper');

    answers(reply, 204);
    expect(reply.text).to.equal('');
    expect(await subjectsStored(email)).to.deep.equal([{ issuer: party().provider.issuer, sub: '' }]);
    expect(await storedToken(id)).to.equal(undefined);
    for (const bearer of [token, kept.bearer]) expectStatus(await me(bearer), 401);
    expectStatus(await browser.info('v2'), 401);
    expectStatus(await refresh(browser, handle), 401);
    expectStatus(await refresh(kept.browser, kept.refreshToken), 401);
    expectOK((await logIn(service)).callback);
    expect(await subjectsStored(email)).to.deep.equal([{ issuer: provider.issuer, sub: 'after' }]);
    person('before');
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
  });

  it('stands in the audit trail', async () => {
    const { service } = party();
    const email = person('told');
    expectOK((await logIn(service)).callback);
    answers(await forget(email, 'helper'), 204);

    const line = service.auditLines
      .map((text) => JSON.parse(text))
      .find(({ audit, target }) => audit === 'UserSubjectsDeleted' && target === nameOf(email));

    expect(line).to.deep.include({ target: nameOf(email), outcome: 'success', code: 204 });
    expect(line.actor).to.include({ name: 'helper@example.com' });
  });

  it('needs the right to set the password and the right to act as the user, and tells strangers nothing', async () => {
    const { service } = party();
    const email = person('kept');
    expectOK((await logIn(service)).callback);
    const before = await subjectsStored(email);

    for (const [who, path] of [
      ['stranger', email],
      ['actor', email],
      ['resetter', email],
      ['narrow', email],
      ['stranger', 'missing@example.com'],
      ['actor', 'missing@example.com'],
    ] as const)
      expectStatus(await forget(path, who), 403);
    expectStatus(await call('DELETE', subjectsOf(email), 'made-up'), 401);
    expectStatus(await new Browser(service.url).request(subjectsOf(email), { method: 'DELETE' }), 401);
    expectStatus(await forget('missing@example.com', 'helper'), 404);
    expectStatus(await call('GET', subjectsOf(email), bearerOf('helper')), 405);
    expect(await subjectsStored(email)).to.deep.equal(before);
    expectOK((await logIn(service)).callback);
  });

  it('changes nothing on a dry run, and finds nothing to forget the second time', async () => {
    const { service } = party();
    const email = person('once');
    const { bearer } = await tokens(service);
    const before = await subjectsStored(email);

    answers(await forget(email, 'helper', '?dryRun=All'), 204);
    expect(await subjectsStored(email)).to.deep.equal(before);
    answers(await me(bearer), 200);
    expectStatus(await forget(email, 'helper', '?dryRun=Some'), 400);
    answers(await forget(email, 'helper'), 204);
    const again = await forget(email, 'helper');
    expectStatus(again, 404);
    expect(again.text).to.contain('no account of an issuer');
  });

  it('takes no access token', async () => {
    const { service, provider } = party();
    const email = person('victim');
    expectOK((await logIn(service)).callback);
    provider.person = { sub: 'helper', email: 'helper@example.com', email_verified: true, groups: [] };
    const helper = await tokens(service);
    const { token } = await makeToken(helper.bearer);

    const reply = await call('DELETE', subjectsOf(email), token);

    expectStatus(reply, 403);
    expect(reply.text).to.contain('AccessTokenNotAllowed');
    expect(await subjectsStored(email)).to.deep.equal([{ issuer: provider.issuer, sub: 'victim' }]);
  });

  it('REC-04 asks for the right to act under each name of an administrator', async () => {
    const { cluster } = party();
    await cluster.kubernetes.apply(aUser('person-1000@example.com', { is_admin: true, subjectName: 'oidc:root' }));
    await writeSubjects('person-1000@example.com', [{ issuer: 'https://elsewhere.example.com', sub: 'root' }]);
    await cluster.kubernetes.apply(...managerOf('half', mayReset, mayBe('oidc:root')));
    await cluster.kubernetes.apply(...managerOf('whole', mayReset, mayBe('oidc:root', 'person-1000@example.com')));

    for (const who of ['narrow', 'half']) expectStatus(await forget('person-1000@example.com', who), 403);
    // The API server hears of the binding a moment later.
    const done = await eventually(
      () => forget('person-1000@example.com', 'whole'),
      ({ status }) => status !== 403,
    );
    answers(done, 204);
  });
});
