/** Selectors, queries and bodies that are too long or slow to parse, sent by strangers and by users. */
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { z } from 'zod';
import { startServer, type TestServer } from '../../support/server.ts';

const status = z.object({
  kind: z.literal('Status'),
  reason: z.string(),
  message: z.string(),
  details: z.object({ causes: z.array(z.looseObject({ field: z.string() })).optional() }).default({}),
});

/** Repeats a character to the length that a body of 1 MiB holds. */
const run = (character: string) => character.repeat(2 ** 20 - 1000);
const tooLong = 'a'.repeat(8193);

describe('hostile input', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const statusOf = async (response: Response) => status.parse(await response.json());

  for (const path of ['/auth/v1/users', '/auth/v2/userbindings']) {
    it(`S1 refuses a selector of 1 MiB at ${path} by a caller without rights with 403, and answers probes meanwhile`, async () => {
      for (const character of ['(', '!', '=', ',']) {
        for (const name of ['labelSelector', 'fieldSelector']) {
          const deleting = server.request(path, { method: 'DELETE', as: 'nobody', body: { [name]: run(character) } });
          expect((await fetch(`${server.url}/livez`)).status).to.equal(200);
          const response = await deleting;
          expect(response.status, `${name} ${character}`).to.equal(403);
          const { reason, message } = await statusOf(response);
          expect(reason).to.equal('Forbidden');
          expect(message.length).to.be.below(1000);
        }
      }
    });

    it(`S1 refuses a selector over 8 KiB at ${path} by a caller with rights, and names it`, async () => {
      for (const name of ['labelSelector', 'fieldSelector']) {
        const response = await server.request(path, { method: 'DELETE', as: 'admin', body: { [name]: run('(') } });
        expect(response.status).to.equal(400);
        const { details, message } = await statusOf(response);
        expect(details.causes).to.deep.equal([{ reason: 'FieldValueInvalid', message: 'must have at most 8192 characters', field: name }]);
        expect(message).to.equal(`${name}: must have at most 8192 characters`);
      }
    });

    it(`S1 asks for the right before a bad selector at ${path} is told`, async () => {
      const body = { labelSelector: '(' };
      expect((await server.request(path, { method: 'DELETE', as: 'nobody', body })).status).to.equal(403);
      expect((await server.request(path, { method: 'DELETE', as: 'admin', body })).status).to.equal(400);
    });
  }

  for (const [name, path] of [
    ['users', '/auth/v2/users?'],
    ['groups', '/auth/v1/groups?'],
    ['bindings', '/auth/v2/userbindings?'],
    ['access tokens', '/auth/v1/accesstokens?'],
    ['namespaces', '/auth/v1/namespaces?verb=list&resource=pods&'],
    ['users, of the API server', '/apis/auth.platform.io/v1/users?'],
    ['users, watched at the API server', '/apis/auth.platform.io/v1/users?watch=true&'],
    ['users, live', '/auth/v2/users?watch=true&'],
  ]) {
    it(`S1 refuses a list of ${name} by a selector over 8 KiB, and names it`, async () => {
      for (const parameter of ['labelSelector', 'fieldSelector']) {
        const headers = { Accept: path?.startsWith('/auth/v2/users?watch') ? 'text/event-stream' : 'application/json' };
        const response = await server.request(`${path}${parameter}=${tooLong}`, { as: 'admin', headers });
        expect(response.status, parameter).to.equal(400);
        const { details } = await statusOf(response);
        expect(details.causes?.map(({ field }) => field)).to.deep.equal([parameter]);
      }
    });
  }

  it('S1 refuses more than 100 requirements, which cost a look at each object', async () => {
    const requirements = Array.from({ length: 101 }, (_, index) => `!a${index}`);
    const list = (labelSelector: string) => server.request(`/auth/v2/users?labelSelector=${labelSelector}`, { as: 'admin' });

    expect((await list(requirements.slice(1).join())).status).to.equal(200);
    const response = await list(requirements.join());
    expect(response.status).to.equal(400);
    expect((await statusOf(response)).message).to.equal('labelSelector: must have at most 100 requirements');
  });

  it('S1 compares with integers of 64 bits, as the API server does', async () => {
    const list = (base: string, value: string) =>
      server.request(`${base}?labelSelector=${encodeURIComponent(`a>${value}`)}`, { as: 'admin' });
    for (const base of ['/auth/v2/users', '/apis/auth.platform.io/v1/users']) {
      expect((await list(base, '9223372036854775807')).status, base).to.equal(200);
      expect((await list(base, '9223372036854775808')).status, base).to.equal(400);
      expect((await list(base, '9'.repeat(4000))).status, base).to.equal(400);
    }
  });

  it('S1 refuses a review with a raw selector over 8 KiB, and names it', async () => {
    for (const name of ['labelSelector', 'fieldSelector']) {
      const resourceAttributes = { verb: 'list', resource: 'pods', [name]: { rawSelector: run('(') } };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
      const response = await server.request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', as: 'nobody', body });
      expect(response.status).to.equal(400);
      const fields = (await statusOf(response)).details.causes?.map(({ field }) => field);
      expect(fields).to.deep.equal([`spec.resourceAttributes.${name}.rawSelector`]);
    }
  });

  it('S1 repeats no more than a part of a body that it refuses', async () => {
    const members = Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`${index}x`, 0]));
    const bodies = [members, { spec: { email: run('('), password: run('(') } }, { spec: members }, [run('(')]];
    for (const body of bodies) {
      const text = JSON.stringify(body).slice(0, 2 ** 20);
      const response = await server.request('/auth/v1/users', { method: 'POST', as: 'admin', body: text.endsWith('}') ? text : '{}' });
      expect(response.status).to.be.oneOf([400, 422]);
      expect((await response.text()).length).to.be.below(150_000);
    }
  });

  it('S1 refuses a body of more than 65,536 tokens, and reads a group of 5,000 members', async () => {
    const users = Array.from({ length: 5000 }, (_, index) => ({ name: `user-${index}` }));
    const group = (members: unknown[]) => ({ metadata: { name: 'large' }, spec: { users: members } });
    const make = (body: unknown) => server.request('/auth/v1/groups?dryRun=All', { method: 'POST', as: 'admin', body });

    // They are looked for, and are none of this cluster.
    expect((await make(group(users))).status).to.equal(422);
    const response = await make(Array.from({ length: 2 ** 16 }, () => 0));
    expect(response.status).to.equal(400);
    expect((await statusOf(response)).message).to.equal('the body contains more than 65536 JSON tokens: names, values and signs');
  });
});
