import { expect } from 'chai';
import { describe, it } from 'mocha';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aGroup, aPerson, groups, people, Slapd } from './slapd.ts';

interface User {
  metadata: { name: string };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}

const local = 'local@example.com';
const localPassword = 'correct horse battery';
const secret = 'jäne-sécret "1"';
const dnOf = (uid: string) => `uid=${uid},${people}`;
const person = (uid: string, more: Record<string, string> = {}) =>
  aPerson({ uid, cn: uid, mail: `${uid}@corp.example.com`, userPassword: secret, ...more });

describe('login with a password of a directory', () => {
  const slapd = forSuite(() =>
    Slapd.start([
      person('jane'),
      aPerson({ uid: 'odd', cn: 'Doe, "J" + Ö', mail: 'odd@corp.example.com', userPassword: secret }, 'cn=Doe\\, \\"J\\" \\+ Ö'),
      person('locked'),
      person('gone'),
      person('newcomer'),
      person('guessed'),
      person('twin1', { mail: 'twin@corp.example.com' }),
      person('twin2', { mail: 'twin@corp.example.com' }),
      aPerson({ uid: 'bare', cn: 'Without Password', mail: 'bare@corp.example.com' }),
      aGroup('dev', [dnOf('jane')]),
      aGroup('system:masters', [dnOf('jane')]),
    ]),
  );
  const service = forSuite(() => startEmbeddedLogin({ emails: [local], password: localPassword, users: { ldap: [slapd.connector()] } }));

  const logIn = (uid: string, password = secret) => service.logIn(`${uid}@corp.example.com`, password);
  const read = async (uid: string): Promise<User> => {
    const { status, body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(`${uid}@corp.example.com`)}`);
    expect(status).to.equal(200);
    return body as User;
  };
  const failures = () => service.lines.filter((line) => line.startsWith('{"audit":"LoginFailed"')).map((line) => JSON.parse(line).reason);

  it('creates the record of a new user, and puts the groups into the token', async () => {
    const { status, body } = await logIn('jane');
    expect(status, body).to.equal(200);
    const info = JSON.parse(body);
    expect(info).to.deep.include({ name: 'jane@corp.example.com', email: 'jane@corp.example.com' });
    expect(info.groups).to.include('dev').and.not.include('system:masters');
    expect(info.ext).to.include({ connector_type: 'ldap', connector_id: 'corp', phase: 'Normal', must_change_password: false });
    const { spec, status: known } = await read('jane');
    expect(spec).to.include({ connector_type: 'ldap', connector_id: 'corp', connector_name: 'Corporation', username: 'jane' });
    expect(known).to.deep.include({ groups: ['dev'], subjectName: 'jane@corp.example.com' });
    expect(known).not.to.have.any.keys('failedLogins', 'lockedUntil');
  });

  it('updates the groups at each login', async () => {
    await slapd.add(aGroup('ops', [dnOf('jane')]));
    await slapd.remove(`cn=dev,${groups}`);
    const { body } = await logIn('jane');
    expect(JSON.parse(body).groups).to.include('ops').and.not.include('dev');
  });

  it('works for entries with odd names, and beside local users', async () => {
    expect((await logIn('odd')).status).to.equal(200);
    expect((await service.logIn(local, localPassword)).status).to.equal(200);
  });

  it('LDP-02 refuses an empty password, a wrong one, and an entry without one, all with the same answer', async () => {
    const count = failures().length;
    for (const [uid, password] of [
      ['jane', ''],
      ['jane', 'wrong'],
      ['bare', ''],
      ['bare', 'wrong'],
      ['twin', secret],
      ['nobody', secret],
    ] as const) {
      const { status, back } = await logIn(uid, password);
      expect([status, back.pathname.startsWith('/identity/login')], `${uid} ${password}`).to.deep.equal([403, true]);
    }
    // The event of a user without a record does not reveal that the directory has an entry.
    expect(failures().slice(count)).to.deep.equal(['WrongPassword', 'WrongPassword', ...Array(4).fill('UnknownUser')]);
    expect((await logIn('jane')).status).to.equal(200);
  });

  it('LDP-01 treats text that looks like a filter as a name', async () => {
    for (const email of ['*', 'j*@corp.example.com', ')(uid=*))(|(uid=*', '\\2a', 'jane@corp.example.com\0', '*)(mail=*'])
      expect((await service.logIn(email, secret)).status, JSON.stringify(email)).to.equal(403);
    const { body } = await service.admin.call('GET', '/apis/auth.platform.io/v1/users');
    expect((body as { items: User[] }).items.map(({ spec }) => spec.email)).to.have.members([
      local,
      ...['jane', 'odd'].map((uid) => `${uid}@corp.example.com`),
    ]);
  });

  it('locks out users after too many failures, like local users', async () => {
    expect((await logIn('locked')).status).to.equal(200);
    for (let attempt = 0; attempt < 5; attempt += 1) expect((await logIn('locked', 'wrong')).status).to.equal(403);
    expect((await read('locked')).status).to.include({ failedLogins: 5, phase: 'Locked' });
    expect((await logIn('locked')).status).to.equal(403);
    expect(failures().at(-1)).to.equal('Locked');
  });

  it('LDP-02 writes no record of a new user before the password is verified, and limits guesses like for other users', async () => {
    const path = `/apis/auth.platform.io/v1/users/${nameOf('newcomer@corp.example.com')}`;
    const stored = async () => (await service.admin.call('GET', path)).status;
    for (const password of ['', 'wrong']) expect((await logIn('newcomer', password)).status).to.equal(403);
    expect(await stored()).to.equal(404);
    expect((await logIn('newcomer')).status).to.equal(200);
    expect(await stored()).to.equal(200);

    for (let attempt = 0; attempt < 5; attempt += 1) expect((await logIn('guessed', `wrong ${attempt}`)).status).to.equal(403);
    expect((await logIn('guessed')).status).to.equal(403);
    const { status } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('guessed@corp.example.com')}`);
    expect(status).to.equal(404);
  });

  it('ends with the directory entry: the session of a user who becomes invalid ends', async () => {
    const { browser, status } = await logIn('gone');
    expect(status).to.equal(200);
    const info = async () => (await browser.get(`${service.url}/api/v2/token/info`)).response.status;
    expect(await info()).to.equal(200);
    await slapd.remove(dnOf('gone'));
    const token = await service.cluster.token('admin');
    const response = await service.request('/auth/v1/users/sync', { method: 'PUT', headers: { authorization: `Bearer ${token}` } });
    expect(await response.json()).to.have.nested.property('connectors[0].invalidated', 1);
    await eventually(info, (code) => code === 401);
    expect((await logIn('gone')).status).to.equal(403);
    expect(failures().at(-1)).to.equal('Invalid');
  });

  it('answers that a retry is needed while the directory is down, and does not count a failure', async () => {
    await logIn('jane', 'wrong');
    const before = (await read('jane')).status.failedLogins;
    expect(before).to.equal(1);
    await slapd.kill();
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const { status, back } = await logIn('jane', 'wrong');
      expect([status, back.pathname.startsWith('/identity/login')]).to.deep.equal([503, true]);
    }
    expect((await read('jane')).status).to.deep.include({ failedLogins: 1, phase: 'Normal' });
    expect((await service.logIn(local, localPassword)).status).to.equal(200);
    await slapd.run();
    expect((await logIn('jane')).status).to.equal(200);
    expect((await read('jane')).status).not.to.have.any.keys('failedLogins', 'lockedUntil');
  });

  it('writes no password into logs or objects', async () => {
    const { body } = await service.admin.call('GET', '/api/v1/secrets');
    expect([...service.lines, JSON.stringify(body)].join('')).not.to.match(/jäne-sécret|reader-sécret/);
    expect((body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)).not.to.include(
      `user-password-${nameOf('jane@corp.example.com')}`,
    );
  });
});
