/** The last administrator who can log in stays, however many requests and replicas are at it. */

import { expect } from 'chai';
import { before, beforeEach, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const emails = ['first-chief', 'second-chief', 'third-chief'];

interface User {
  spec: { is_admin: boolean; is_disabled?: boolean };
}

describe('REC-04 the last administrator', () => {
  const server = forSuite(() => startServer());
  let replicas: string[];

  before(async () => {
    replicas = [server.url, (await server.replica()).url];
  });
  beforeEach(async () => {
    for (const email of emails) {
      await server.kubernetes.apply(aUser(email, { is_admin: true, is_disabled: false }));
      for (const at of replicas)
        await eventually(
          async () => {
            const response = await server.request(`/auth/v1/users/${nameOf(email)}`, { as: 'admin', at });
            return response.status === 200 && ((await response.json()) as User).spec.is_disabled !== true;
          },
          (isThere) => isThere,
        );
    }
  });

  const left = async () => {
    const { body } = await server.kubernetes.call('GET', users);
    return (body as { items: User[] }).items.filter(({ spec }) => spec.is_admin && spec.is_disabled !== true);
  };
  const at = (index: number) => replicas[index % replicas.length] ?? server.url;
  const remove = (email: string, index: number) =>
    server.request(`/auth/v1/users/${nameOf(email)}`, { method: 'DELETE', as: 'admin', at: at(index) });
  const disable = (email: string, index: number) =>
    server.request(`/auth/v1/users/${nameOf(email)}`, {
      method: 'PATCH',
      as: 'admin',
      at: at(index),
      body: { spec: { is_disabled: true } },
    });
  const expire = (email: string, index: number) => {
    const body = { spec: { expired: { end: '2020-01-01T00:00:00Z' } } };
    return server.request(`/auth/v1/users/${nameOf(email)}`, { method: 'PATCH', as: 'admin', at: at(index), body });
  };
  const expectOneRefused = async (answers: readonly Response[]) => {
    const texts = await Promise.all(answers.map(async (response) => `${response.status} ${await response.text()}`));
    const refused = texts.filter((text) => text.startsWith('409'));
    expect(refused, texts.join('\n')).to.have.length(1);
    expect(refused[0]).to.contain('the last administrator cannot be');
  };

  it('is not deleted by requests for all of them at once, on two replicas', async () => {
    await expectOneRefused(await Promise.all(emails.map(remove)));
    expect(await left()).to.have.length(1);
  });

  it('is not disabled by requests for all of them at once, on two replicas', async () => {
    await expectOneRefused(await Promise.all(emails.map(disable)));
    expect(await left()).to.have.length(1);
  });

  it('is not taken away by a deletion, an end of validity and a disabling at once', async () => {
    const [one = '', two = '', three = ''] = emails;
    await expectOneRefused(await Promise.all([remove(one, 0), expire(two, 1), disable(three, 0)]));
    for (const email of emails)
      await server.kubernetes.apply({
        ...aUser(email, { is_admin: true }),
        spec: { expired: null, ...(aUser(email, { is_admin: true }).spec as object) },
      });
  });

  it('is not deleted by one bulk request that names all of them, dry or not', async () => {
    const bulk = (query = '') =>
      server.request(`/auth/v1/users${query}`, { method: 'DELETE', as: 'admin', body: { names: emails.map(nameOf) } });
    expect((await bulk('?dryRun=All')).status).to.equal(200);
    expect(await left()).to.have.length(3);

    const response = await bulk();
    const { items } = (await response.json()) as { items: { code: number; message?: string }[] };

    expect(items.map(({ code }) => code).sort()).to.deep.equal([204, 204, 409]);
    expect(await left()).to.have.length(1);
  });
});
