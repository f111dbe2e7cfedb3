/** Subjects of access tokens at an external issuer (docs/contract/login.md). */
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Browser, type Reply } from '../login/provider/browser.ts';
import { expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { session, tokens } from '../sessions/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { makePath } from './tokens.ts';

const users = '/apis/auth.platform.io/v1/users';
const accessTokens = '/apis/auth.platform.io/v1/accesstokens';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const madeToken = z.object({ id: z.string(), token: z.string() });
const tokenObject = z.object({ spec: z.object({ subject: z.object({ issuer: z.string(), sub: z.string() }).optional() }) });

const answers = ({ status, text }: Reply, wanted: number) => expect(status, text).to.equal(wanted);

describe('an access token of a subject', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 }, features: { accessTokens: true } } });
  const email = 'keeper@example.com';
  const call = (method: 'GET' | 'POST', path: string, bearer: string, body?: object) =>
    new Browser(party().service.url).request(path, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const make = (bearer: string) => call('POST', makePath, bearer, { description: 'ci' });
  const writeStatus = (status: object) =>
    party().cluster.kubernetes.call('PATCH', `${users}/${nameOf(email)}/status`, { status }, mergePatch);
  const untilStatus = (token: string, wanted: number) =>
    eventually(
      async () => (await call('GET', '/auth/v1/me', token)).status,
      (status) => status === wanted,
    );

  it('REC-05 ends with its subject, even when the record is edited by hand', async () => {
    const { service, provider, cluster } = party();
    const subject = { issuer: provider.issuer, sub: 'keeper-1' };
    provider.person = { sub: subject.sub, email, email_verified: true, groups: ['dev'] };
    const { bearer } = await tokens(service);
    const reply = await make(bearer);
    answers(reply, 201);
    const { id, token } = madeToken.parse(reply.body);
    const { body } = await cluster.kubernetes.call('GET', `${accessTokens}/${id}`);
    expect(tokenObject.parse(body).spec.subject).to.deep.equal(subject);
    await untilStatus(token, 200);

    await writeStatus({ subjects: [{ ...subject, sub: 'keeper-2' }] });
    await untilStatus(token, 401);
    const refused = await call('GET', '/auth/v1/me', token);
    expect(refused.text).to.contain('SubjectDiffers');
    await writeStatus({ subjects: null });
    await eventually(
      async () => (await cluster.kubernetes.call('GET', `${users}/${nameOf(email)}`)).body,
      (user) => !JSON.stringify(user).includes('keeper-2'),
    );
    expectStatus(await call('GET', '/auth/v1/me', token), 401);
    // A previous URL of the issuer does not matter.
    await writeStatus({ subjects: [{ issuer: 'https://elsewhere.example.com', sub: 'x' }, subject] });
    await untilStatus(token, 200);
  });

  it('REC-05 is made by a session for its subject, too', async () => {
    const { service, provider, cluster } = party();
    provider.person = { sub: 'by-session', email: 'by-session@example.com', email_verified: true, groups: [] };
    const { browser } = await session(service);

    const reply = await browser.request(makePath, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ description: 'ci' }),
    });

    answers(reply, 201);
    const { body } = await cluster.kubernetes.call('GET', `${accessTokens}/${madeToken.parse(reply.body).id}`);
    expect(tokenObject.parse(body).spec.subject).to.deep.equal({ issuer: provider.issuer, sub: 'by-session' });
  });

  it('REC-05 is not made for a subject of another record', async () => {
    const { provider, cluster } = party();
    const unlinked = 'unlinked@example.com';
    await cluster.kubernetes.apply(aUser(unlinked));
    const bearer = provider.idToken({ claims: { sub: 'unlinked-1', email: unlinked, email_verified: true } });
    await eventually(
      async () => (await call('GET', '/auth/v1/me', bearer)).status,
      (status) => status === 200,
    );

    const reply = await make(bearer);

    expectStatus(reply, 403);
    expect(reply.text).to.contain('log in once');
    expect(reply.text).to.not.contain('cat_');
  });
});
