import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type ConnectorResult, syncResult } from '../../../src/directory/schema.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { type DirectoryScript, ScriptedDirectory, type ScriptedEntry } from '../../support/scripted-directory.ts';
import { nameOf } from '../users/a-user.ts';

interface User {
  spec: { valid?: boolean; [member: string]: unknown };
  status?: { groups?: string[] };
}

const suffix = 'dc=example,dc=com';
const people = `ou=people,${suffix}`;
const groups = `ou=groups,${suffix}`;
const dnOf = (uid: string) => `uid=${uid},${people}`;
const groupDN = (cn: string) => `cn=${cn},${groups}`;
const password = 'secret of all';

const person = (uid: string, more: ScriptedEntry['attributes'] = {}): ScriptedEntry => ({
  dn: dnOf(uid),
  attributes: {
    objectClass: ['person'],
    uid: [uid],
    cn: [`${uid} of Corp`],
    mail: [`${uid}@example.com`],
    entryUUID: [`id-${uid}`],
    ...more,
  },
  password,
});
const group = (cn: string, member: readonly string[], more: ScriptedEntry['attributes'] = {}): ScriptedEntry => ({
  dn: groupDN(cn),
  attributes: { objectClass: ['groupOfNames'], cn: [cn], member: [...member], ...more },
});
/** Returns a security identifier of the domain with the number of a user or group. */
const sidOf = (number: number): Buffer => {
  const domain = [1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  return Buffer.from([...domain, number & 0xff, number >> 8, 0, 0]);
};
const guid = Buffer.from('f1e2d3c4b5a69788990a0b0c0d0e0f80', 'hex');

describe('the connector for answers of a directory', () => {
  const directory = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const connector = (id: string, more: Record<string, unknown> = {}, inGroups: Record<string, unknown> = {}) => ({
    id,
    name: id,
    url: directory.url,
    baseDN: people,
    groups: { baseDN: groups, ...inGroups },
    ...more,
  });
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [],
      password,
      users: {
        sync: { maxInvalidPercent: 100 },
        ldap: [
          connector('corp'),
          connector('walk', {}, { nested: 'walk' }),
          connector('rule', {}, { nested: 'matchingRule' }),
          connector('primary', {}, { primary: true, nested: 'walk' }),
          connector('ignoring', { referrals: 'ignore' }),
          ...['mail', 'UID', 'cn', 'objectguid'].map((id) => connector(`by-${id.toLowerCase()}`, { attributes: { id } })),
        ],
      },
    }),
  );

  before(() => grant(service.admin, 'admin', 'cluster-admin'));
  beforeEach(async () => {
    for (const key of Object.keys(directory.script)) if (key !== 'entries') delete directory.script[key as keyof DirectoryScript];
    directory.searches.length = 0;
    const { body } = await service.admin.call('GET', '/apis/auth.platform.io/v1/users');
    // Each test has users of its own, and those of earlier ones must not count as gone.
    gone = (body as { items: { spec: { email: string } }[] }).items.map(({ spec }) => spec.email.split('@')[0] ?? '');
  });
  let gone: string[] = [];

  /** Sets the entries, with the people of earlier tests. */
  const has = (...entries: ScriptedEntry[]) => {
    const now = new Set(entries.map(({ dn }) => dn));
    directory.script.entries = [...entries, ...gone.map((uid) => person(uid)).filter(({ dn }) => !now.has(dn))];
  };
  const sync = async (connectorID = 'corp', status: ConnectorResult['status'] = 'Success'): Promise<ConnectorResult> => {
    const authorization = `Bearer ${await service.cluster.token('admin')}`;
    const response = await service.request('/auth/v1/users/sync', {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ connector_id: connectorID }),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const [result] = syncResult.parse(JSON.parse(text)).connectors;
    if (result === undefined) throw new Error(text);
    expect(result.status, text).to.equal(status);
    return result;
  };
  const read = async (uid: string): Promise<User> =>
    (await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(`${uid}@example.com`)}`)).body as User;
  const groupsOf = async (uid: string) => (await read(uid)).status?.groups ?? [];
  const logIn = async (uid: string) => {
    const { status, body } = await service.logIn(`${uid}@example.com`, password);
    const told = status === 200 ? (JSON.parse(body) as { groups: string[] }).groups : [];
    return { status, groups: told.filter((name) => !name.startsWith('system:')).sort() };
  };
  const hints = ({ warnings }: ConnectorResult) => warnings.map(({ reason }) => reason);

  it('reads an attribute in ranges to its end', async () => {
    const many = Array.from({ length: 3001 }, (_, index) => dnOf(`m${index}`));
    has(person('first'), person('last'), group('all', [dnOf('first'), ...many, dnOf('last')]));
    directory.script.maxValues = 1500;
    await sync();
    for (const uid of ['first', 'last']) expect(await groupsOf(uid), uid).to.deep.equal(['all']);
    has(person('first'), person('last', { mail: ['last@example.com', 'l2@example.com', 'l3@example.com'] }), group('all', [dnOf('last')]));
    directory.script.maxValues = 2;
    await sync();
    expect(await groupsOf('first')).to.deep.equal([]);
    expect(await groupsOf('last')).to.deep.equal(['all']);
  });

  for (const rangeFault of ['error', 'gone', 'same'] as const)
    it(`takes nothing from users if a group cannot be read to its end (${rangeFault})`, async () => {
      const uid = `range-${rangeFault}`;
      const members = Array.from({ length: 40 }, (_, index) => dnOf(`m${index}`));
      has(person(uid), group('whole', [...members, dnOf(uid)]));
      directory.script.maxValues = 15;
      await sync();
      directory.script.rangeFault = rangeFault;
      has(group('whole', [...members, dnOf(uid)]), group('other', [dnOf(uid)]));
      const result = await sync('corp', 'Failed');
      expect(result.errors[0]).to.include({ reason: 'Incomplete' });
      expect(result).to.include({ updated: 0, invalidated: 0 });
      expect(await groupsOf(uid)).to.deep.equal(['whole']);
      expect((await read(uid)).spec.valid).to.equal(true);
    });

  it('follows pages to the end, also after empty ones and with a cookie that stays the same', async () => {
    const many = Array.from({ length: 12 }, (_, index) => `page${index}`);
    has(...many.map((uid) => person(uid)));
    Object.assign(directory.script, { pageSize: 5, pageFault: 'emptyPages' });
    expect(await sync()).to.include({ fetched: directory.script.entries.length, failed: 0, invalidated: 0 });
    for (const pageFault of ['lostCookie', 'sameCookie', 'error', 'truncated'] as const) {
      directory.script.pageFault = pageFault;
      const result = await sync('corp', 'Failed');
      expect(result.errors[0], pageFault).to.include({ reason: 'Incomplete' });
      expect(result, pageFault).to.include({ created: 0, updated: 0, invalidated: 0 });
    }
    // Repeated pages end after a bounded number of searches.
    expect(directory.searches.length).to.be.below(200);
    for (const uid of many) expect((await read(uid)).spec.valid, uid).to.equal(true);
  });

  for (const [endCode, what] of [
    [3, 'its time limit'],
    [4, 'its size limit'],
    [11, 'an administrative limit'],
    [51, 'its load'],
  ] as const)
    it(`changes nobody if the directory stops at ${what}, after half of the entries (go-gitea/gitea 4402)`, async () => {
      const [listed, missing] = [`listed${endCode}`, `missing${endCode}`];
      has(person(listed), person(missing), group('dev', [dnOf(missing)]));
      await sync();
      directory.script.endCode = endCode;
      has(person(listed), person(`new${endCode}`));
      directory.script.entries = directory.script.entries.filter(({ dn }) => dn !== dnOf(missing));
      const result = await sync('corp', 'Failed');
      expect(result).to.include({ created: 0, updated: 0, invalidated: 0 });
      expect(result.errors[0]).to.include({ reason: 'Incomplete' });
      expect(await groupsOf(missing)).to.deep.equal(['dev']);
      expect((await read(missing)).spec.valid).to.equal(true);
      expect((await logIn(listed)).status).to.equal(503);
    });

  it('changes nobody if the search of groups fails', async () => {
    has(person('half'), group('dev', [dnOf('half')]));
    await sync();
    has(person('half'));
    directory.script.code = { baseDN: groups, value: 10 };
    const result = await sync('corp', 'Failed');
    expect(result.errors[0]?.message).to.equal('the directory did not answer a search to its end: LDAP result 10');
    expect(await groupsOf('half')).to.deep.equal(['dev']);
    expect((await logIn('half')).status).to.equal(503);
  });

  it('reports referrals, and takes neither users nor groups away, unless they are ignored', async () => {
    has(person('near'), person('moved'), group('dev', [dnOf('near')]));
    await sync();
    directory.script.referring = [people, groups];
    has(person('near'), group('ops', [dnOf('near')]));
    directory.script.entries = directory.script.entries.filter(({ dn }) => dn !== dnOf('moved'));
    const result = await sync();
    expect(hints(result)).to.deep.equal(['ReferralsNotFollowed', 'ReferralsNotFollowed']);
    expect(result).to.include({ invalidated: 0 });
    expect((await read('moved')).spec.valid).to.equal(true);
    expect(await groupsOf('near')).to.deep.equal(['dev', 'ops']);
    expect((await logIn('near')).groups).to.deep.equal(['dev', 'ops']);
    expect(await groupsOf('near')).to.deep.equal(['dev', 'ops']);

    const ignoring = await sync('ignoring');
    expect(hints(ignoring)).to.deep.equal([]);
    directory.script.referring = [];
    expect(await sync()).to.include({ invalidated: 1 });
    expect(await groupsOf('near')).to.deep.equal(['ops']);
  });

  const nested = (uid: string) => [
    person(uid),
    group('inner', [dnOf(uid)]),
    group('outer', [groupDN('inner')]),
    group('outermost', [groupDN('outer')]),
  ];

  it('says that groups in groups are not followed', async () => {
    has(...nested('flat'));
    expect(hints(await sync())).to.deep.equal(['NestedGroupsNotFollowed']);
    expect(await groupsOf('flat')).to.deep.equal(['inner']);
    expect((await logIn('flat')).groups).to.deep.equal(['inner']);
  });

  for (const id of ['walk', 'rule'] as const)
    it(`follows groups in groups, also at a login (${id})`, async () => {
      has(...nested(`nest-${id}`));
      expect(hints(await sync(id))).to.deep.equal([]);
      expect(await groupsOf(`nest-${id}`)).to.deep.equal(['inner', 'outer', 'outermost']);
      has(...nested(`nest-${id}`).slice(0, -1));
      expect((await logIn(`nest-${id}`)).groups).to.deep.equal(['inner', 'outer']);
    });

  it('follows a circle of groups once, and chains over 10 levels', async () => {
    const chain = Array.from({ length: 13 }, (_, index) =>
      group(`level${index}`, [index === 0 ? dnOf('deep') : groupDN(`level${index - 1}`)]),
    );
    has(person('deep'), person('circle'), ...chain, group('left', [dnOf('circle'), groupDN('right')]), group('right', [groupDN('left')]));
    await sync('walk');
    expect(await groupsOf('circle')).to.deep.equal(['left', 'right']);
    const expected = Array.from({ length: 11 }, (_, index) => `level${index}`).sort();
    expect(await groupsOf('deep')).to.deep.equal(expected);
    expect((await logIn('deep')).groups).to.deep.equal(expected);
    expect((await logIn('circle')).groups).to.deep.equal(['left', 'right']);
  });

  it('adds primary groups of Active Directory if configured, and says otherwise that they are missing', async () => {
    const windows = (uid: string) => [
      person(uid, { objectSid: [sidOf(1105)], primaryGroupID: ['513'] }),
      group('Domain Users', [], { objectSid: [sidOf(513)] }),
      group('everyone', [groupDN('Domain Users')]),
      group('other', [], { objectSid: [sidOf(514)] }),
    ];
    has(...windows('win'));
    expect(hints(await sync('primary'))).to.deep.equal([]);
    expect(await groupsOf('win')).to.deep.equal(['Domain Users', 'everyone']);
    expect((await logIn('win')).groups).to.deep.equal(['Domain Users', 'everyone']);
    directory.script.entries = directory.script.entries.filter(({ dn }) => dn !== groupDN('Domain Users'));
    expect(hints(await sync('primary'))).to.deep.equal(['PrimaryGroupsNotFound']);
    expect(await groupsOf('win')).to.deep.equal([]);
    has(...windows('plain'));
    expect(hints(await sync())).to.include('PrimaryGroupsNotFollowed');
    expect(await groupsOf('plain')).to.deep.equal([]);
  });

  it('takes an attribute as id that is also another attribute, as text', async () => {
    for (const [id, uid, cn, expected] of [
      ['mail', 'idmail', 'Id Mail', 'idmail@example.com'],
      ['uid', 'iduid', 'Id Uid', 'iduid'],
      ['cn', 'idcn', 'Jürgen Ößwald', 'Jürgen Ößwald'],
    ] as const) {
      has(person(uid, { cn: [cn] }));
      directory.script.entries = directory.script.entries.slice(0, 1);
      expect(await sync(`by-${id}`), id).to.include({ created: 1, failed: 0 });
      const { spec } = await read(uid);
      expect(spec, id).to.deep.include({ ids: [{ type: 'ldap', id: expected }], account: uid, username: cn });
      expect(await sync(`by-${id}`), id).to.include({ unchanged: 1, failed: 0 });
      expect((await logIn(uid)).status, id).to.equal(200);
    }
  });

  it('takes an id of bytes whatever its letter case in the setting', async () => {
    has(person('bytes', { objectGUID: [guid] }));
    directory.script.entries = directory.script.entries.slice(0, 1);
    expect(await sync('by-objectguid')).to.include({ created: 1, failed: 0 });
    expect((await read('bytes')).spec.ids).to.deep.equal([{ type: 'ldap', id: guid.toString('hex') }]);
    expect(await sync('by-objectguid')).to.include({ unchanged: 1 });
  });

  it('compares passwords as they are typed (dexidp/dex 3456)', async () => {
    for (const [index, typed] of ['()*\\', '\\28', ' blanks around ', 'Gänse😀', 'a\u0301', 'x,=+<>#;"', '%40&+', '{SSHA}x'].entries()) {
      const uid = `typed${index}`;
      has({ ...person(uid), password: typed });
      expect((await service.logIn(`${uid}@example.com`, typed)).status, typed).to.equal(200);
      for (const other of [typed.trim().slice(0, -1), `${typed} `, typed.normalize('NFC')].filter((one) => one !== typed && one !== ''))
        expect((await service.logIn(`${uid}@example.com`, other)).status, `${typed} by ${other}`).to.equal(403);
    }
  });

  it('finds users and groups whose names have characters of filters (rancher/rancher 9830, 12593)', async () => {
    for (const [index, local] of ["o'neil", 'a&b', 'a*b', 'a|b', 'a!b', 'a~b', 'a=b', 'a+b', 'a^b', 'a{b}'].entries()) {
      const entry = person(`special${index}`, { mail: [`${local}@example.com`], uid: [`test(${index})&abc`] });
      has({ ...entry, dn: `uid=test(${index})&abc*,${people}` }, group('test(group&)abc', [`uid=test(${index})&abc*,${people}`]));
      const { status, body } = await service.logIn(`${local}@example.com`, password);
      expect(status, local).to.equal(200);
      if (status === 200) console.log(JSON.parse(body).groups);
    }
  });

  const dns: Record<string, readonly [dn: string, member: string]> = {
    'brackets (goharbor/harbor 9157)': [`cn=Some Name (EXT)*,${people}`, `CN=some name (ext)*,${people}`],
    'a comma (vesse/node-ldapauth-fork 89)': [`cn=Ray\\, Rex,${people}`, `cn=Ray\\2C Rex,${people}`],
    'letters beyond ASCII as escaped bytes': [`cn=Mesut Özil,${people}`, `cn=Mesut \\C3\\96zil,${people}`],
    'escaped letters beyond ASCII in lower case': [`cn=mesut özil,${people}`, `cn=Mesut \\C3\\96zil,${people}`],
    'two blanks for one': [`cn=John  Doe,${people}`, `cn=John Doe,${people}`],
    'blanks around separators': [`cn=Jo Doe,${people}`, `cn = Jo Doe , ${people.replaceAll(',', ' , ')}`],
    'letters in decomposed form': [`cn=Zoe\u0308,${people}`, `cn=Zo\u00eb,${people}`],
  };
  for (const [index, [what, [dn, member]]] of Object.entries(dns).entries())
    it(`finds members by a DN with ${what}`, async () => {
      const uid = `dn${index}`;
      has({ ...person(uid), dn }, group('dev', [member]));
      await sync();
      expect(await groupsOf(uid)).to.deep.equal(['dev']);
    });

  it('reads attributes whatever the letter case of their names (DefGuard/defguard 3707)', async () => {
    const { attributes, ...entry } = person('case');
    const upper = Object.fromEntries(Object.entries(attributes).map(([name, values]) => [name.toUpperCase(), values]));
    has(
      { ...entry, attributes: upper },
      { dn: groupDN('dev'), attributes: { OBJECTCLASS: ['groupOfNames'], CN: ['dev'], MEMBER: [dnOf('case')] } },
    );
    await sync();
    expect(await groupsOf('case')).to.deep.equal(['dev']);
    expect(await logIn('case')).to.deep.equal({ status: 200, groups: ['dev'] });
  });
});
