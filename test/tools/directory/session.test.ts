import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DirectoryGroups } from '../../../src/directory/groups.ts';
import { bindsAs, DirectorySession } from '../../../src/directory/session.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aConnector } from './a-connector.ts';
import { aGroup, aPerson, people, Slapd } from './slapd.ts';

const never = new AbortController().signal;

const odd = [
  aPerson({
    uid: 'jane',
    cn: 'Jane Doe',
    mail: ['Jane@example.com', 'other@example.com'],
    mobile: '+49 30 1234',
    userPassword: 'jane-secret',
  }),
  aPerson({ uid: 'mueller', cn: 'Jürgen Müller-Ößwald 名', mail: 'mueller@example.com' }, 'cn=Jürgen Müller-Ößwald 名'),
  aPerson(
    { uid: 'comma', cn: 'Doe, John "Johnny" + Co <x>; #1\\', mail: 'comma@example.com' },
    'cn=Doe\\, John \\"Johnny\\" \\+ Co \\<x\\>\\; #1\\\\',
  ),
  aPerson({ uid: 'two', cn: 'Two Names', mail: 'two@example.com' }, 'cn=Two Names+uid=two'),
  aPerson({ uid: 'star', cn: 'Star', mail: 'a*@example.com' }),
  aPerson({ uid: 'ax', cn: 'Ax', mail: 'ax@example.com' }),
  aPerson({ uid: 'nomail', cn: 'No Mail' }),
];

describe('a session with a directory', () => {
  const slapd = forSuite(() =>
    Slapd.start([
      ...odd,
      aGroup('dev', [odd[0]?.dn ?? '', odd[1]?.dn ?? '', odd[2]?.dn ?? '', odd[3]?.dn ?? '']),
      aGroup('Entwicklung Süd', [odd[2]?.dn ?? '']),
      aGroup('system:masters', [odd[0]?.dn ?? '']),
    ]),
  );

  const connector = (differences: Record<string, unknown> = {}) => aConnector(slapd.connector(differences));
  const inSession = async <T>(use: (session: DirectorySession) => Promise<T>, differences: Record<string, unknown> = {}): Promise<T> => {
    const session = await DirectorySession.open(connector(differences), never);
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  };

  it('lists entries with odd names and the first of several values, and reports entries that cannot be users', async () => {
    const { entries } = await inSession((session) => session.people());
    const found = entries.flatMap(({ person }) => person ?? []);
    const unfit = entries.filter(({ person }) => person === undefined).map(({ dn }) => dn);

    expect(found.map(({ email }) => email)).to.have.members(odd.slice(0, -1).map(({ attributes }) => [attributes.mail].flat()[0]));
    expect(unfit).to.deep.equal([`uid=nomail,${people}`]);
    const jane = found.find(({ account }) => account === 'jane');
    expect(jane).to.include({ email: 'Jane@example.com', username: 'Jane Doe', mobile: '+49 30 1234' });
    expect(jane?.id).to.match(/^[0-9a-f-]{36}$/);
    expect(found.find(({ account }) => account === 'mueller')?.username).to.equal('Jürgen Müller-Ößwald 名');
    expect(found.find(({ account }) => account === 'comma')?.username).to.equal('Doe, John "Johnny" + Co <x>; #1\\');
  });

  for (const email of ['comma@example.com', 'mueller@example.com', 'two@example.com'])
    it(`finds the groups of ${email} by the DN, alone and in the list`, async () => {
      await inSession(async (session) => {
        const { own: person } = await session.find({ email, ids: [] });
        if (person === undefined) throw new Error('not found');
        const expected = email === 'comma@example.com' ? ['dev', 'Entwicklung Süd'] : ['dev'];
        expect((await session.groupsOf(person)).names).to.have.members(expected);
        const listed = new DirectoryGroups((await session.groups()).entries, connector().groups);
        expect((await listed.of(person)).map(({ name }) => name)).to.have.members(expected);
      });
    });

  it('LDP-01 treats text that looks like a filter as a name', async () => {
    await inSession(async (session) => {
      for (const name of ['*', 'a*', ')(uid=*))(|(uid=*', '\\2a', 'jane\0', '\0', 'a\\2a@example.com', '(mail=*)', '*)(mail=*', ''])
        expect((await session.find({ email: name, ids: [name] })).own, JSON.stringify(name)).to.equal(undefined);
      expect((await session.find({ email: 'a*@example.com', ids: [] })).own?.account).to.equal('star');
      const holders = async (emails: readonly string[]) =>
        (await session.holders(emails.map((email) => ({ email, ids: [email] })))).map(({ addresses }) => addresses);
      expect(await holders(['*', 'a*', '*)(objectClass=*'])).to.deep.equal([]);
      expect(await holders(['nobody@example.com', 'AX@example.com'])).to.deep.equal([['ax@example.com']]);
    });
  });

  it('LDP-02 refuses a bind without a password or a name, which would succeed anonymously', async () => {
    const dn = `uid=jane,${people}`;
    expect(await bindsAs(connector(), dn, 'jane-secret', never)).to.equal(true);
    expect(await bindsAs(connector(), dn, 'wrong', never)).to.equal(false);
    expect(await bindsAs(connector(), dn, '', never)).to.equal(false);
    expect(await bindsAs(connector(), '', 'jane-secret', never)).to.equal(false);
    expect(await bindsAs(connector(), '', '', never)).to.equal(false);
    expect(await bindsAs(connector(), `uid=nobody,${people}`, 'x', never)).to.equal(false);
  });

  const failure = async (differences: Record<string, unknown>): Promise<string> => {
    try {
      await inSession(async () => undefined, differences);
    } catch (error) {
      const text = `${error}`;
      expect(text).not.to.match(/secret|sécret|127\.0\.0\.1|cn=reader/);
      return error instanceof Error && 'reason' in error ? String(error.reason) : text;
    }
    return 'open';
  };

  it('LDP-02 does not talk to a directory with an untrusted certificate, or with one of another host', async () => {
    expect(await failure({})).to.equal('open');
    expect(await failure({ caFile: slapd.otherCAFile })).to.equal('Unreachable');
    expect(await failure({ caFile: undefined })).to.equal('Unreachable');
    expect(await failure({ url: slapd.url, startTLS: true })).to.equal('open');
    expect(await failure({ url: slapd.url, startTLS: true, caFile: slapd.otherCAFile })).to.equal('Unreachable');
    expect(await failure({ url: slapd.secureURL.replace('127.0.0.1', '127.0.0.2') })).to.equal('Unreachable');
    expect(await failure({ url: slapd.url.replace('127.0.0.1', '127.0.0.2'), startTLS: true })).to.equal('Unreachable');
    expect(await failure({ url: slapd.url.replace('127.0.0.1', '127.0.0.2') })).to.equal('open');
    expect(await failure({ url: slapd.url.replace('127.0.0.1', 'localhost'), startTLS: true })).to.equal('open');
  });

  it('reports the failure of a connector without a secret', async () => {
    expect(await failure({ bindPasswordFile: await slapd.file('wrong', 'wrong-secret') })).to.equal('BindRefused');
    expect(await failure({ bindPasswordFile: await slapd.file('empty', '\n') })).to.equal('NotConfigured');
    expect(await failure({ bindPasswordFile: '/nowhere/secret' })).to.equal('NotConfigured');
    expect(await failure({ caFile: '/nowhere/ca.crt' })).to.equal('NotConfigured');
    expect(await failure({ filter: '(objectClass=person' })).to.contain('users.ldap[0].filter: must be a search filter');
    expect(await failure({ filter: '(&(objectClass=person)(mail))' })).to.equal('NotConfigured');
    expect(await failure({ url: 'ldaps://127.0.0.1:1' })).to.equal('Unreachable');
  });
});
