/** Users that a GitOps tool applies from a repository. */
import { expect } from 'chai';
import { parse } from 'yaml';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { untilWarned, warningsAbout } from '../../support/warning-events.ts';
import { Machine } from '../kubectl-atrium/machine.ts';
import { aUser, nameOf } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const merge = { 'content-type': 'application/merge-patch+json' };

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  observedGeneration?: number;
}
interface User {
  metadata: { name: string; generation: number; uid: string };
  spec: Record<string, unknown>;
  status?: { phase?: string; reason?: string; observedGeneration?: number; conditions?: Condition[] };
}

describe('E12 a user by GitOps', () => {
  const server = forSuite(() => startServer());
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  before(() => grant(server.kubernetes, 'manager', 'atrium-users-admin'));

  const read = async (name: string) => (await server.kubernetes.call('GET', `${users}/${name}`)).body as User;
  const untilPhase = (name: string, phase: string) =>
    eventually(
      () => read(name),
      ({ metadata, status }) =>
        status?.phase === phase && status.observedGeneration === metadata.generation && status.conditions !== undefined,
    );
  const print = async (...args: string[]) => {
    const { code, stdout, stderr } = await machine.run(['users', 'create', ...args]);
    expect(code, stderr).to.equal(0);
    return stdout;
  };
  /** Returns a User with a misspelt name, as a repository would hold it. */
  const misnamed = (email: string, name: string) => {
    const { status: _status, ...user } = aUser(email, { name });
    return user;
  };

  it('prints the User of an address, in YAML and in JSON, without a service', async () => {
    const email = 'Grace@example.com';
    const expected = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'User',
      metadata: { name: nameOf(email) },
      spec: { email, username: 'Grace "Amazing": Hopper', connector_type: 'local', connector_id: 'local', connector_name: 'Local' },
    };
    const args = [email, '--name', expected.spec.username, '--dry-run'];
    expect(parse(await print(...args))).to.deep.equal(expected);
    expect(JSON.parse(await print(...args, '-o', 'json'))).to.deep.equal(expected);
    const { email: _email, ...external } = (parse(await print(...args, '--external')) as User).spec;
    expect(external).to.deep.equal({ username: expected.spec.username });
    // The name of this address has digits and one "e", which YAML reads as a number without quotes.
    expect((parse(await print('10@example.com', '--dry-run', '-o', 'yaml')) as User).metadata.name).to.equal(nameOf('10@example.com'));
  });

  it('refuses texts that cannot be the login name of a User', async () => {
    for (const email of ['jane doe', 'jane@example@com', 'jäne@example.com', '']) {
      const { code, stdout, stderr } = await machine.run(['users', 'create', email, '--dry-run']);
      expect({ code, stdout }, email).to.deep.equal({ code: 1, stdout: '' });
      expect(stderr).to.contain('must be an ASCII e-mail address or login name');
    }
  });

  it('is a record that works, and applying it again changes nothing', async () => {
    const manifest = parse(await print('ops@example.com', '--dry-run')) as Manifest;
    const made = await server.kubernetes.call('POST', users, manifest);
    expect(made.status).to.equal(201);
    expect(made.warnings).to.deep.equal([]);
    const name = nameOf('ops@example.com');
    const { metadata, status } = await untilPhase(name, 'Normal');
    for (const condition of status?.conditions ?? []) expect(condition.observedGeneration, condition.type).to.equal(metadata.generation);
    const body = { spec: { password: 'correct horse battery' } };
    const patched = await eventually(
      () => server.request(`/auth/v1/users/${name}`, { method: 'PATCH', as: 'manager', body }),
      (answer) => answer.status !== 404,
    );
    expect(patched.status, await patched.text()).to.equal(200);
    const { generation } = (await read(name)).metadata;
    expect((await server.kubernetes.call('PATCH', `${users}/${name}`, manifest, merge)).status).to.equal(200);
    expect((await read(name)).metadata.generation).to.equal(generation);
  });

  it('warns of a name that no address makes, and tells the right one in conditions and an Event, once', async () => {
    const email = 'linus@example.com';
    const { status, warnings } = await eventually(
      () => server.kubernetes.call('POST', users, misnamed(email, 'linus')),
      // The API server compiles a policy a moment after it was made.
      (answer) => answer.warnings.length > 0 || answer.status === 409,
    );
    expect(status).to.equal(201);
    expect(warnings.join()).to.contain(`Print the right one: kubectl atrium users create ${email} --dry-run -o yaml`);
    const user = await untilPhase('linus', 'Invalid');
    for (const type of ['Ready', 'Canonical']) {
      const condition = user.status?.conditions?.find((one) => one.type === type);
      expect(condition, type).to.include({ status: 'False', reason: 'NotCanonical', observedGeneration: user.metadata.generation });
      expect(condition?.message)
        .to.contain(`metadata.name must be ${nameOf(email)}`)
        .and.to.contain(`users create ${email}`);
    }
    const [event] = await untilWarned(server.kubernetes, 'User', 'linus');
    expect(event).to.include({ reason: 'NotCanonical' });
    expect(event?.message).to.contain(nameOf(email));
    expect(event?.involvedObject).to.include({ apiVersion: 'auth.platform.io/v1', uid: user.metadata.uid });

    // A change that leaves the trouble as it is.
    await server.kubernetes.call('PATCH', `${users}/linus`, { spec: { username: 'Linus' } }, merge);
    await untilPhase('linus', 'Invalid');
    await server.kubernetes.apply(misnamed('later@example.com', 'later'));
    await untilWarned(server.kubernetes, 'User', 'later');
    expect(await warningsAbout(server.kubernetes, 'User', 'linus')).to.have.length(1);
  });

  it('tells the right name of a record that has the name of another address', async () => {
    await server.kubernetes.apply(misnamed('second@example.com', nameOf('first@example.com')));
    const { status } = await untilPhase(nameOf('first@example.com'), 'Invalid');
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).to.contain(nameOf('second@example.com'));
  });
});
