/** Texts of bodies as people paste them: blanks around a text that people read are not part of it; names and addresses have none. */
import { expect } from 'chai';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { nameOf } from './a-user.ts';

const pasted: [title: string, spell: (text: string) => string][] = [
  ['a blank behind', (text) => `${text} `],
  ['blanks around', (text) => `  ${text}  `],
  ['a tab before', (text) => `\t${text}`],
  ['a line break', (text) => `${text}\n`],
  ['a line break of Windows', (text) => `${text}\r\n`],
  ['a no-break space', (text) => `${text}\u00a0`],
  ['an ideographic space', (text) => `\u3000${text}`],
];
/** Texts that are refused. */
const refused: [title: string, text: string][] = [
  ['a line break inside', 'Jane\nDoe'],
  ['a tab inside', 'Jane\tDoe'],
  ['a zero-width space', 'Jane\u200bDoe'],
  ['an override of the direction', 'Jane\u202eDoe'],
  ['marks of the direction around', '\u202aJane Doe\u202c'],
  ['a byte order mark', '\ufeffJane Doe'],
  ['a zero-width space at the end', 'Jane Doe\u200b'],
  ['an escape', 'Jane\x1b[31mDoe'],
];

interface Status {
  details?: { causes?: { field: string; message: string }[] };
}

describe('texts that people paste into fields', () => {
  const server = forSuite(() => startServer({ passwords: new Passwords() }));
  let count = 0;
  const next = () => `user-${++count}`;
  const send = async (method: 'POST' | 'PATCH', path: string, body: unknown) => {
    const headers = method === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {};
    const response = await server.request(path, { method, as: 'admin', body, headers });
    return {
      status: response.status,
      body: (await response.json()) as Status & { metadata: { name: string }; spec: Record<string, string> },
    };
  };
  const password = 'correct horse battery';
  const makeUser = (spec: object) => send('POST', '/auth/v1/users', { spec: { email: `${next()}@example.com`, password, ...spec } });
  const makeGroup = (spec: object, name = next()) => send('POST', '/auth/v1/groups', { metadata: { name }, spec });
  const stored = async (path: string) => (await server.kubernetes.call('GET', path)).body as { spec: Record<string, string> };

  for (const [title, spell] of pasted) {
    it(`keep a display name without ${title}`, async () => {
      const { status, body } = await makeUser({ username: spell('Jane Doe') });
      expect(status, JSON.stringify(body)).to.equal(201);
      expect((await stored(`/apis/auth.platform.io/v1/users/${body.metadata.name}`)).spec.username).to.equal('Jane Doe');

      const patched = await send('PATCH', `/auth/v1/users/${body.metadata.name}`, { spec: { username: spell('Jane Roe') } });
      expect(patched.status).to.equal(200);
      expect((await stored(`/apis/auth.platform.io/v1/users/${body.metadata.name}`)).spec.username).to.equal('Jane Roe');
    });

    it(`keep the texts of a group without ${title}`, async () => {
      const { status, body } = await makeGroup({ displayName: spell('Team Red'), description: spell('Runs the shop') });
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.spec).to.include({ displayName: 'Team Red', description: 'Runs the shop' });
    });

    it(`refuse an address with ${title}, at its field`, async () => {
      const { status, body } = await makeUser({ email: spell(`${next()}@example.com`) });
      expect(status).to.equal(422);
      expect(body.details?.causes).to.have.nested.property('[0].field', 'spec.email');
      expect((await makeGroup({}, spell(next()))).body.details?.causes).to.have.nested.property('[0].field', 'metadata.name');
    });

    it(`find the roles of an address with ${title}`, async () => {
      const email = `${next()}@example.com`;
      expect((await makeUser({ email })).status).to.equal(201);
      const response = await server.request(`/auth/v1/usersroles?${new URLSearchParams({ email: spell(email) })}`, { as: 'admin' });
      expect(response.status).to.equal(200);
      expect(await response.json()).to.have.nested.property('user.name', nameOf(email));
    });
  }

  for (const [title, text] of refused)
    it(`refuse ${title} at the field`, async () => {
      const { status, body } = await makeUser({ username: text });
      expect(status).to.equal(422);
      expect(body.details?.causes).to.have.nested.property('[0].field', 'spec.username');
      const { body: group } = await makeGroup({ description: text });
      expect(group.details?.causes).to.have.nested.property('[0].field', 'spec.description');
    });
});
