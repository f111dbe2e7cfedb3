import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type ConnectorResult, syncResult } from '../../../src/directory/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { ScriptedDirectory, type ScriptedEntry } from '../../support/scripted-directory.ts';
import { TwoIssuers } from '../login/two-issuers.ts';
import { aUser, nameOf } from '../users/a-user.ts';

interface User {
  metadata: { uid: string; name: string };
  spec: { email: string; username: string; valid?: boolean; ids?: { type: string; id: string }[]; [member: string]: unknown };
  status?: { phase?: string; groups?: string[] };
}

const suffix = 'dc=example,dc=com';
const people = `ou=people,${suffix}`;
const groups = `ou=groups,${suffix}`;
const dnOf = (uid: string) => `uid=${uid},${people}`;
const users = '/apis/auth.platform.io/v1/users';

/** Returns an entry whose id is `id-` and its uid, and whose password is its uid. */
const person = (uid: string, mail: string | readonly string[], more: Record<string, string[]> = {}): ScriptedEntry => ({
  dn: dnOf(uid),
  attributes: { objectClass: ['person'], uid: [uid], cn: [`${uid} of Corp`], mail: [mail].flat(), entryUUID: [`id-${uid}`], ...more },
  password: `secret of ${uid}`,
});
const group = (cn: string, uids: readonly string[]): ScriptedEntry => ({
  dn: `cn=${cn},${groups}`,
  attributes: { objectClass: ['groupOfNames'], cn: [cn], member: uids.map(dnOf) },
});

describe('entries of a directory and their user records', () => {
  const corp = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const branch = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const connector = (id: string, url: string) => ({ id, name: id, url, baseDN: people, groups: { baseDN: groups } });
  const two = forSuite(() =>
    TwoIssuers.start(
      {},
      { users: { ldap: [connector('corp', corp.url), connector('branch', branch.url)], sync: { maxInvalidPercent: 100 } } },
    ),
  );

  const kubernetes = (method: 'GET' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
    two.service.admin.call(method, path, body, body === undefined ? {} : { 'content-type': 'application/merge-patch+json' });
  const asAdmin = async (path: string, init: { method: string; body?: string }) => {
    const authorization = `Bearer ${await two.service.cluster.token('admin')}`;
    return two.service.request(path, { ...init, headers: { authorization, 'content-type': 'application/json' } });
  };
  const sync = async (connectorID = 'corp'): Promise<ConnectorResult> => {
    const response = await asAdmin('/auth/v1/users/sync', { method: 'PUT', body: JSON.stringify({ connector_id: connectorID }) });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const [result] = syncResult.parse(JSON.parse(text)).connectors;
    if (result === undefined) throw new Error(text);
    expect(result.status, text).to.equal('Success');
    return result;
  };
  const read = async (email: string): Promise<User | undefined> => {
    const { status, body } = await kubernetes('GET', `${users}/${nameOf(email)}`);
    return status === 404 ? undefined : (body as User);
  };
  /** Changes a record as an earlier version would have written it, and waits until the service has seen it. */
  const rewrite = async (email: string, spec: Record<string, unknown>) => {
    expect((await kubernetes('PATCH', `${users}/${nameOf(email)}`, { spec })).status).to.equal(200);
    const [member = '', value] = Object.entries(spec)[0] ?? [];
    await eventually(
      async () => ((await (await asAdmin(`/auth/v1/users/${nameOf(email)}`, { method: 'GET' })).json()) as User).spec[member] ?? null,
      (seen) => isDeepStrictEqual(seen, value),
    );
  };
  const reasons = ({ errors }: ConnectorResult) => errors.map(({ reason, entry }) => [reason, entry]);
  const hints = ({ warnings }: ConnectorResult) => warnings.map(({ reason, entry }) => [reason, entry]);
  const logIn = async (email: string, uid: string) => {
    const { status, body } = await two.service.logIn(email, `secret of ${uid}`);
    return { status, body, email: status === 200 ? (JSON.parse(body) as { email: string }).email : undefined };
  };
  const failures = () =>
    two.service.lines.filter((line) => line.startsWith('{"audit":"LoginFailed"')).map((line) => JSON.parse(line).reason);

  before(() => grant(two.service.admin, 'admin', 'cluster-admin'));
  beforeEach(() => {
    corp.script.entries = [];
    branch.script.entries = [];
  });

  it('give a new entry with the address of a user no record and no login, until an administrator settles it [new entry with the address of a user]', async () => {
    const jo = 'jo@example.com';
    corp.script.entries = [person('jo1', jo), group('admins', ['jo1'])];
    expect(await sync()).to.include({ created: 1 });
    const before = await read(jo);
    expect((await logIn(jo, 'jo1')).status).to.equal(200);

    corp.script.entries = [person('jo2', jo), group('staff', ['jo2'])];
    // Before the synchronisation the record still belongs to the former entry.
    expect(await logIn(jo, 'jo2')).to.deep.include({ status: 401 });
    expect(failures().at(-1)).to.equal('SubjectDiffers');
    const result = await sync();
    expect(reasons(result)).to.deep.equal([['EntryDiffers', dnOf('jo2')]]);
    expect(result.errors[0]?.message).to.match(/^the address belongs to another entry/);
    expect(result).to.include({ updated: 0, invalidated: 1, failed: 1 });
    const after = await read(jo);
    expect(after?.spec).to.deep.include({ username: 'jo1 of Corp', account: 'jo1', ids: before?.spec.ids, valid: false });
    expect(after?.status?.groups).to.deep.equal(['admins']);

    const refused = await logIn(jo, 'jo2');
    expect(refused.status).to.equal(401);
    expect(refused.body).to.include('SubjectDiffers');
    // A wrong password does not tell it.
    expect((await two.service.logIn(jo, 'wrong')).status).to.equal(403);
    expect((await logIn(jo, 'jo1')).status).to.equal(403);

    expect((await asAdmin(`/auth/v1/users/${nameOf(jo)}`, { method: 'DELETE' })).status).to.equal(204);
    expect(await sync()).to.include({ created: 1, failed: 0 });
    const settled = await read(jo);
    expect(settled?.metadata.uid).not.to.equal(before?.metadata.uid);
    expect(settled?.status?.groups).to.deep.equal(['staff']);
    expect((await logIn(jo, 'jo2')).status).to.equal(200);
  });

  it('give a new entry of the same person the record once it forgets the former entry [new entry of the same person]', async () => {
    const kai = 'kai@example.com';
    corp.script.entries = [person('kai', kai)];
    await sync();
    const before = await read(kai);
    corp.script.entries = [person('kai', kai, { entryUUID: ['id-kai-again'] })];
    expect(reasons(await sync())).to.deep.equal([['EntryDiffers', dnOf('kai')]]);
    const path = `/auth/v1/users/${nameOf(kai)}/subjects`;
    expect((await asAdmin(path, { method: 'DELETE' })).status).to.equal(204);
    expect((await asAdmin(path, { method: 'DELETE' })).status).to.equal(404);
    expect(await sync()).to.include({ restored: 1, failed: 0 });
    const after = await read(kai);
    expect(after?.metadata.uid).to.equal(before?.metadata.uid);
    expect(after?.spec).to.deep.include({ valid: true, ids: [{ type: 'ldap', id: 'id-kai-again' }] });
    expect((await logIn(kai, 'kai')).status).to.equal(200);
  });

  it('keep the record when the address changes [changed address]', async () => {
    const [old, fresh] = ['lea.old@example.com', 'lea.new@example.com'];
    corp.script.entries = [person('lea', old), group('dev', ['lea'])];
    await sync();
    corp.script.entries = [person('lea', fresh, { cn: ['Lea Married'] }), group('ops', ['lea'])];
    const result = await sync();
    expect(result).to.include({ updated: 1, created: 0, invalidated: 0, failed: 0 });
    expect(hints(result)).to.deep.equal([['AddressChanged', dnOf('lea')]]);
    expect((await read(old))?.spec).to.include({ email: old, username: 'Lea Married', valid: true });
    expect((await read(old))?.status?.groups).to.deep.equal(['ops']);
    expect(await read(fresh)).to.equal(undefined);
    for (const address of [old, fresh]) expect(await logIn(address, 'lea'), address).to.include({ status: 200, email: old });
    expect(await read(fresh)).to.equal(undefined);
    expect((await two.service.logIn(fresh, 'wrong')).status).to.equal(403);
  });

  it('include every entry that keeps its old address as a second one [old address as a second one]', async () => {
    const [old, fresh] = ['mia.old@example.com', 'mia.new@example.com'];
    corp.script.entries = [person('mia', old)];
    await sync();
    corp.script.entries = [person('mia', [fresh, old]), person('newcomer', 'newcomer@example.com')];
    expect(await sync()).to.include({ created: 1, invalidated: 0, failed: 0 });
    expect((await read(old))?.spec.valid).to.equal(true);
    // A record of an earlier version has no id. Its address is an alias of an entry, so that its absence is not proven.
    await rewrite(old, { ids: null });
    expect(await sync()).to.include({ invalidated: 0 });
    expect((await read(old))?.spec.valid).to.equal(true);
  });

  it('keep both records when addresses are swapped [swapped addresses]', async () => {
    const [a, b] = ['swap.a@example.com', 'swap.b@example.com'];
    corp.script.entries = [person('swapa', a), person('swapb', b)];
    await sync();
    corp.script.entries = [person('swapa', b), person('swapb', a)];
    const result = await sync();
    expect(result).to.include({ created: 0, invalidated: 0, failed: 0 });
    expect(hints(result)).to.have.deep.members([
      ['AddressChanged', dnOf('swapa')],
      ['AddressChanged', dnOf('swapb')],
    ]);
    expect((await read(a))?.spec).to.include({ account: 'swapa', email: a });
    expect((await read(b))?.spec).to.include({ account: 'swapb', email: b });
    expect(await logIn(a, 'swapa')).to.include({ status: 200, email: a });
    expect((await logIn(a, 'swapb')).status).to.equal(401);
  });

  it('keep both records when an entry gets the address of another user [address of another user in the own entry]', async () => {
    const [boss, mallory] = ['boss@example.com', 'mallory@example.com'];
    corp.script.entries = [person('mallory', mallory), person('boss', boss), group('board', ['boss'])];
    await sync();
    corp.script.entries = [person('mallory', boss), person('boss', boss), group('board', ['boss'])];
    expect(await sync()).to.include({ created: 0, invalidated: 0, failed: 0 });
    expect((await read(boss))?.spec).to.include({ account: 'boss' });
    expect((await read(boss))?.status?.groups).to.deep.equal(['board']);
    expect((await read(mallory))?.spec).to.include({ account: 'mallory', valid: true });
    expect((await logIn(boss, 'mallory')).status).to.equal(401);
    expect(await logIn(boss, 'boss')).to.include({ status: 200, email: boss });
    // Also without a record of its own.
    corp.script.entries = [person('stranger', boss), person('boss', boss), group('board', ['boss'])];
    expect(reasons(await sync())).to.deep.equal([['EntryDiffers', dnOf('stranger')]]);
    expect((await read(boss))?.spec).to.include({ account: 'boss', valid: true });
  });

  it('get no record for the address of two new entries [address of two new entries]', async () => {
    const twin = 'twin@example.com';
    corp.script.entries = [person('twin1', twin), person('twin2', twin.toUpperCase())];
    expect(reasons(await sync())).to.deep.equal([
      ['Duplicate', dnOf('twin1')],
      ['Duplicate', dnOf('twin2')],
    ]);
    expect((await logIn(twin, 'twin1')).status).to.equal(403);
    expect(await read(twin)).to.equal(undefined);
  });

  it('leave the record of an address in two directories to the first one [address in two directories]', async () => {
    const ana = 'ana@example.com';
    corp.script.entries = [person('ana', ana), group('dev', ['ana'])];
    branch.script.entries = [person('ana', ana, { entryUUID: ['id-of-branch'] }), group('root', ['ana'])];
    await sync('corp');
    expect(reasons(await sync('branch'))).to.deep.equal([['EntryDiffers', dnOf('ana')]]);
    expect((await read(ana))?.spec).to.deep.include({ connector_id: 'corp', ids: [{ type: 'ldap', id: 'id-ana' }] });
    expect((await read(ana))?.status?.groups).to.deep.equal(['dev']);
    // An equal id of another directory is not the same person either.
    branch.script.entries = [person('ana', 'other@example.com'), group('root', ['ana'])];
    expect(await sync('branch')).to.include({ created: 1 });
    expect((await read(ana))?.status?.groups).to.deep.equal(['dev']);
    expect((await read('other@example.com'))?.spec).to.include({ connector_id: 'branch' });
  });

  it('make a record valid again when its entry comes back, also with another address [entry that comes back]', async () => {
    const ivo = 'ivo@example.com';
    corp.script.entries = [person('ivo', ivo), person('keeper', 'keeper@example.com')];
    await sync();
    corp.script.entries = [person('keeper', 'keeper@example.com')];
    expect(await sync()).to.include({ invalidated: 1 });
    expect((await read(ivo))?.status?.phase).to.equal('Invalid');
    corp.script.entries = [person('ivo', 'ivo.back@example.com'), person('keeper', 'keeper@example.com')];
    expect(await sync()).to.include({ restored: 1, created: 0 });
    expect((await read(ivo))?.spec.valid).to.equal(true);
  });

  it('keep the record when the entry loses its id or its address [entry that loses its id or its address]', async () => {
    const [ida, udo] = ['ida@example.com', 'udo@example.com'];
    corp.script.entries = [person('ida', ida), person('udo', udo)];
    await sync();
    corp.script.entries = [person('ida', ida, { entryUUID: [] }), person('udo', [])];
    const result = await sync();
    expect(reasons(result)).to.deep.equal([
      ['Unfit', dnOf('ida')],
      ['Unfit', dnOf('udo')],
    ]);
    expect(result).to.include({ invalidated: 0 });
    for (const email of [ida, udo]) expect((await read(email))?.spec.valid, email).to.equal(true);
    expect((await logIn(ida, 'ida')).status).to.equal(403);
  });

  it('give a record of an earlier version without an id that of the entry with its address [record of an earlier version without an id]', async () => {
    const eva = 'eva@example.com';
    corp.script.entries = [person('eva', eva)];
    await sync();
    await rewrite(eva, { ids: null });
    expect((await logIn(eva, 'eva')).status).to.equal(200);
    expect(await sync()).to.include({ updated: 1, failed: 0 });
    expect((await read(eva))?.spec.ids).to.deep.equal([{ type: 'ldap', id: 'id-eva' }]);
  });

  it('keep a record of an earlier version with several ids for the entry with its address, and report it [record of an earlier version with several ids]', async () => {
    const pat = 'pat@example.com';
    corp.script.entries = [person('pat1', pat)];
    await sync();
    const ids = ['id-pat1', 'id-pat2'].map((id) => ({ type: 'ldap', id }));
    await rewrite(pat, { ids });
    corp.script.entries = [person('pat1', 'pat.moved@example.com'), person('pat2', pat)];
    const result = await sync();
    expect(reasons(result)).to.deep.equal([['EntryDiffers', dnOf('pat1')]]);
    expect(hints(result)).to.deep.equal([['SeveralEntries', dnOf('pat2')]]);
    expect((await read(pat))?.spec).to.deep.include({ account: 'pat2', ids, valid: true });
    expect((await logIn(pat, 'pat2')).status).to.equal(200);
    expect(await read('pat.moved@example.com')).to.equal(undefined);
  });

  it('keep the source of a user of another source with the address, and give no right [user of another source with the address]', async () => {
    const [here, outside] = ['here@example.com', 'outside@example.com'];
    await two.service.admin.apply(aUser(here), {
      ...aUser(outside),
      spec: { ...(aUser(outside).spec as object), connector_type: 'oidc', connector_id: 'corp', connector_name: 'Corp' },
    });
    await eventually(
      async () => (await asAdmin(`/auth/v1/users/${nameOf(outside)}`, { method: 'GET' })).status,
      (status) => status === 200,
    );
    corp.script.entries = [person('here', here), person('outside', outside), group('dev', ['here', 'outside'])];
    expect(await sync()).to.include({ linked: 2, failed: 0 });
    corp.script.entries = [person('here2', here), person('outside2', outside), group('dev', ['here2', 'outside2'])];
    expect(await sync()).to.include({ linked: 0, unchanged: 2, failed: 0 });
    for (const [email, type, uid] of [
      [here, 'local', 'here'],
      [outside, 'oidc', 'outside'],
    ] as const) {
      const user = await read(email);
      expect(user?.spec).to.deep.include({ connector_type: type, ids: [{ type: 'ldap', id: `id-${uid}` }], username: email });
      expect(user?.status?.groups ?? []).to.deep.equal([]);
      for (const other of [uid, `${uid}2`]) expect((await logIn(email, other)).status).to.equal(403);
    }
  });

  it('refuse a login at another issuer with the address [login at another issuer with the address]', async () => {
    const noa = 'noa@example.com';
    corp.script.entries = [person('noa', noa)];
    await sync();
    const claims = { sub: 'noa-at-corp', email: noa, email_verified: true };
    two.behave({ idToken: { claims } });
    const { status, text } = await two.logInAtCorp();
    two.behave();
    expect(status, text).to.equal(401);
    expect(text).to.include('SubjectDiffers');
    expect((await read(noa))?.spec).to.deep.include({ connector_type: 'ldap', ids: [{ type: 'ldap', id: 'id-noa' }] });
  });

  it('are tested for every case of the table in docs/users.md', async function () {
    const page = await readFile(new URL('../../../docs/users.md', import.meta.url), 'utf8');
    const [, table = ''] = page.split('| Case | Effect |\n|---|---|\n');
    const rows =
      table
        .split('\n\n')[0]
        ?.split('\n')
        .map((row) => row.split(' | ')[0]?.replace('| ', '')) ?? [];
    const titles = this.test?.parent?.tests.map(({ title }) => /\[(.*)\]$/.exec(title)?.[1]).slice(0, -1);
    expect(rows).to.deep.equal(titles);
  });
});
