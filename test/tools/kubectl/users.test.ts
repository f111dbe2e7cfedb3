import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { install } from '../../support/installed-cluster.ts';
import { kubectl } from '../../support/kubectl.ts';

const ann = 'ann@example.com';
const ben = 'ben@example.com';

describe('kubectl, with users', () => {
  const cluster = forSuite(() => apiServer({ isReused: true }));
  const kubernetes = forSuite(
    () => install(cluster),
    (admin) => admin.close(),
  );
  let directory: string;

  before(async () => {
    await grant(kubernetes, 'viewer', 'atrium-users-view');
    await kubernetes.apply(
      aUser(ann, { username: 'Ann Lee', groups: ['dev', 'oncall'], lastLoginTime: new Date().toISOString() }),
      aUser(ben, { username: 'Ben', is_disabled: true, phase: 'Disabled' }),
    );
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    await writeFile(join(directory, 'ca.crt'), cluster.certificateAuthority);
  });
  after(async () => {
    await rm(directory, { recursive: true });
  });

  /** Runs kubectl as a user who may only read users. */
  const run = async (...args: string[]) =>
    kubectl({ url: cluster.url, caFile: join(directory, 'ca.crt'), token: await cluster.token('viewer') }, ...args);
  const output = async (...args: string[]) => {
    const { isDone, stdout, stderr } = await run(...args);
    expect(isDone, stderr).to.equal(true);
    return stdout;
  };
  const names = async (...args: string[]) => (await output('get', 'users', '--output=name', ...args)).trimEnd().split('\n');
  const resourceName = (email: string) => `user.auth.platform.io/${nameOf(email)}`;

  it('shows names, sources and states by get users', async () => {
    const [head = '', ...lines] = (await output('get', 'users')).trimEnd().split('\n');

    expect(head.trimEnd().split(/ {2,}/)).to.deep.equal(['NAME', 'USERNAME', 'DISPLAY NAME', 'SOURCE', 'PHASE', 'LAST LOGIN', 'AGE']);
    expect(lines.find((line) => line.startsWith(nameOf(ann)))).to.match(/ann@example\.com +Ann Lee +Local +Normal +[\dms]+ +[\dms]+$/);
    expect(lines.find((line) => line.startsWith(nameOf(ben)))).to.match(/ben@example\.com +Ben +Local +Disabled +[\dms]+$/);
  });

  it('shows administrators, reasons and groups too by get users -o wide', async () => {
    const [head = '', ...lines] = (await output('get', 'users', '-o', 'wide')).trimEnd().split('\n');

    expect(head.trimEnd().split(/ {2,}/).slice(-4)).to.deep.equal(['ADMIN', 'REASON', 'GROUPS', 'AGE']);
    expect(lines.find((line) => line.startsWith(nameOf(ann)))).to.match(/ false +\["dev","oncall"\] +[\dms]+$/);
  });

  it('shows no phase by get users until the status of an imported user is written, and selects such users', async () => {
    const imported = aUser('imported@example.com');
    const { status, ...record } = imported;
    await kubernetes.apply(record);

    const line = (await output('get', 'users')).split('\n').find((text) => text.startsWith(record.metadata.name));
    expect(line)
      .to.match(/imported@example\.com +.*Local +[\dms]+$/)
      .and.not.to.include('Normal');
    expect(await names('--field-selector=status.phase=')).to.deep.equal([resourceName('imported@example.com')]);
    await kubernetes.apply({ ...record, status });
    expect(await output('get', 'users', '--output=name', '--field-selector=status.phase=')).to.equal('');
    await kubernetes.remove(`/apis/auth.platform.io/v1/users/${record.metadata.name}`);
  });

  it('shows the record by get user NAME -o json', async () => {
    const user = JSON.parse(await output('get', 'user', nameOf(ann), '-o', 'json'));

    expect(user).to.deep.nested.include({ 'spec.email': ann, 'status.phase': 'Normal', 'status.groups': ['dev', 'oncall'] });
  });

  it('finds users by every selectable field by get users --field-selector', async () => {
    expect(await names(`--field-selector=spec.email=${ann}`)).to.deep.equal([resourceName(ann)]);
    expect(await names('--field-selector=spec.username=Ben')).to.deep.equal([resourceName(ben)]);
    expect(await names('--field-selector=spec.is_disabled=true')).to.deep.equal([resourceName(ben)]);
    expect(await names('--field-selector=status.phase!=Disabled')).to.deep.equal([resourceName(ann)]);
    expect(
      await names('--field-selector=spec.connector_type=local,spec.connector_id=local,spec.state=active,spec.valid=true'),
    ).to.have.members([resourceName(ann), resourceName(ben)]);
    expect(await names(`--field-selector=metadata.name=${nameOf(ben)}`)).to.deep.equal([resourceName(ben)]);
    expect((await run('get', 'users', '--field-selector=spec.mail=x')).stderr).to.match(/field label not supported: spec\.mail/);
  });

  it('shows the record without a secret by describe user', async () => {
    const text = await output('describe', 'user', nameOf(ann));

    expect(text)
      .to.match(/^Name: +[0-9a-f]{32}$/m)
      .and.match(/^ {2}Email: +ann@example\.com$/m)
      .and.match(/^ {2}Phase: +Normal$/m);
    expect(text).not.to.match(/password *:/i);
  });

  it('describes each field by explain users', async () => {
    const text = await output('explain', 'users.spec');
    expect(text)
      .to.match(/^GROUP: +auth\.platform\.io$/m)
      .and.match(/^KIND: +User$/m)
      .and.match(/^ +email\t<string> -required-$/m)
      .and.match(/^ +is_disabled\t<boolean>$/m);
    expect(await output('explain', 'users.status.phase')).to.match(/^FIELD: phase <string>$/m);
    expect((await run('explain', 'users.spec.password')).stderr).to.match(/field "password" does not exist/);
  });

  it('gets refusals of requests that the roles do not grant', async () => {
    expect((await run('delete', 'user', nameOf(ben))).stderr).to.match(/^Error from server \(Forbidden\): users\.auth\.platform\.io/);
    expect((await run('get', 'sessions', '-A')).stderr).to.match(/^Error from server \(Forbidden\): sessions\.auth\.platform\.io/);
    expect(await output('get', 'users', '--output=name')).to.include(resourceName(ben));
  });
});
