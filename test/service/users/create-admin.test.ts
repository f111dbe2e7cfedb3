import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { kubeconfigConnection } from '@atrium/kubernetes/kubeconfig-connection.ts';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/schema.ts';
import { runCreateAdmin } from '../../../src/create-admin.ts';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { recordName } from '../../../src/users/record/account.ts';
import { type ApiServer, apiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, serviceNamespace as namespace } from '../../support/cluster-admin.ts';
import { type Finished, run } from '../../support/command.ts';
import { install } from '../../support/installed-cluster.ts';
import { aKubeconfig } from '../../support/kubeconfig.ts';

const secret = z.object({ metadata: z.object({ resourceVersion: z.string() }), data: z.record(z.string(), z.base64()) });
const user = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), resourceVersion: z.string(), labels: z.record(z.string(), z.string()) }),
  spec: z.record(z.string(), z.unknown()),
  status: z.record(z.string(), z.unknown()),
});

/** Exact permissions of the command, as the chart grants them to its Job. */
const rights = (names: readonly string[]) => {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'atrium-first-admin' } };
  const subjects = [{ kind: 'ServiceAccount', name: 'atrium-first-admin', namespace }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', name: 'atrium-first-admin' };
  const hashes = names.map((name) => `user-password-${recordName(name)}`);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'atrium-first-admin', namespace } },
    {
      ...role,
      kind: 'ClusterRole',
      rules: [
        { apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['get', 'create'] },
        { apiGroups: ['auth.platform.io'], resources: ['users/status'], verbs: ['patch'] },
      ],
    },
    { ...role, kind: 'ClusterRoleBinding', roleRef: { ...roleRef, kind: 'ClusterRole' }, subjects },
    {
      ...role,
      kind: 'Role',
      metadata: { name: 'atrium-first-admin', namespace },
      rules: [
        { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['first', 'second', 'third', 'fourth', ...hashes] },
        { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      ],
    },
    { ...role, kind: 'RoleBinding', metadata: { name: 'atrium-first-admin', namespace }, roleRef: { ...roleRef, kind: 'Role' }, subjects },
  ];
};

describe('atrium create-admin', () => {
  let cluster: ApiServer;
  let kubernetes: ClusterAdmin;
  let directory: string;
  let config: string;
  let settings: Config;
  let connection: Connection;

  const people = [
    'Root@example.com',
    'twice@example.com',
    'gone@example.com',
    'halted@example.com',
    'filed@example.com',
    'plain@example.com',
  ];
  const secretPath = (name: string) => `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const userPath = (email: string) => `/apis/auth.platform.io/v1/users/${recordName(email)}`;
  const hashPath = (email: string) => secretPath(`user-password-${recordName(email)}`);
  const read = async (path: string) => (await kubernetes.call('GET', path)).body;
  const entries = async (path: string) => {
    const { data } = secret.parse(await read(path));
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  };
  const command = (...args: string[]): Promise<Finished> => run(['create-admin', '--config', config, ...args]);
  /** Runs the command in this process, which is faster. */
  const createAdmin = (email: string, secret: string, password?: string): Promise<string> =>
    runCreateAdmin({ config: settings, connection, email, secret, name: 'Administrator', password });
  const passwordFile = async (text: string) => {
    const path = join(directory, 'password');
    await writeFile(path, text);
    return path;
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    cluster = await apiServer();
    kubernetes = await install(cluster);
    await kubernetes.apply(...rights(people));
    const kubeconfig = join(directory, 'kubeconfig.yaml');
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { body } = await kubernetes.call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/atrium-first-admin/token`, review);
    const { token } = z.object({ status: z.object({ token: z.string() }) }).parse(body).status;
    await writeFile(kubeconfig, aKubeconfig(cluster, token));
    config = join(directory, 'config.yaml');
    const server = { publicURL: 'https://console.example.com' };
    const yaml = stringify({ server, kubernetes: { kubeconfig, namespace }, login: { claims: { usernamePrefix: 'atrium:' } } });
    await writeFile(config, yaml);
    settings = parseConfig({ yaml });
    connection = await kubeconfigConnection(kubeconfig);
  });
  after(async () => {
    for (const email of people) await kubernetes.call('DELETE', userPath(email));
    for (const name of ['first', 'second', 'third', 'fourth', 'fifth']) await kubernetes.call('DELETE', secretPath(name));
    await kubernetes.close();
    await cluster.stop();
    await rm(directory, { recursive: true });
  });

  it('makes the record, a random password to be changed, and a Secret that tells of it', async () => {
    const { code, stdout, stderr } = await command('--email', 'Root@example.com', '--secret', 'first');

    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const { email, password = '', ...rest } = await entries(secretPath('first'));
    expect(rest).to.deep.equal({});
    expect(email).to.equal('Root@example.com');
    expect(password).to.match(/^[\w-]{32}$/);
    expect(stdout).to.contain(`${namespace}/first`).and.not.to.contain(password);
    const { metadata, spec, status } = user.parse(await read(userPath('root@example.com')));
    expect(spec).to.include({ email: 'Root@example.com', username: 'Administrator', is_admin: true, connector_type: 'local' });
    expect(metadata.labels).to.include({ 'auth.platform.io/user.email': recordName('root@example.com') });
    expect(status).to.include({ phase: 'Normal', mustChangePassword: true, subjectName: 'atrium:Root@example.com' });
    const { hash = '' } = await entries(hashPath('root@example.com'));
    expect(await new Passwords().verify(password, hash)).to.equal('match');
  });

  it('changes nothing when it is run again, in any case of the address', async () => {
    const objects = async () => [
      await read(userPath('root@example.com')),
      await read(secretPath('first')),
      await read(hashPath('root@example.com')),
    ];
    const before = await objects();

    const { code, stdout } = await command('--email', 'root@EXAMPLE.com', '--secret', 'first', '--name', 'Other');

    expect(code).to.equal(0);
    expect(stdout).to.contain('exists already');
    expect(await objects()).to.deep.equal(before);
  });

  it('is made once: for another address it changes nothing while the Secret tells of the first', async () => {
    expect(await createAdmin('plain@example.com', 'first')).to.equal(
      'the first administrator was made before, as the Secret first tells; nothing was changed for plain@example.com',
    );
    expect((await kubernetes.call('GET', userPath('plain@example.com'))).status).to.equal(404);
  });

  it('makes one of four that are run at once', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => createAdmin('twice@example.com', 'second')));

    expect(results.filter((result) => result.includes('exists already'))).to.have.length(3);
    expect(results.filter((result) => result.includes('was made'))).to.have.length(1);
    const { password = '' } = await entries(secretPath('second'));
    const { hash = '' } = await entries(hashPath('twice@example.com'));
    expect(await new Passwords().verify(password, hash)).to.equal('match');
  });

  it('completes a run that ended between any two writes, with the same password', async () => {
    await createAdmin('halted@example.com', 'third');
    const { password = '' } = await entries(secretPath('third'));
    await kubernetes.remove(hashPath('halted@example.com'));

    expect(await createAdmin('halted@example.com', 'third')).to.contain('was made');
    expect(await entries(secretPath('third'))).to.include({ password });
    const { hash = '' } = await entries(hashPath('halted@example.com'));
    expect(await new Passwords().verify(password, hash)).to.equal('match');

    await kubernetes.remove(hashPath('halted@example.com'));
    await kubernetes.remove(secretPath('third'));
    const noStatus = { status: { mustChangePassword: null, subjectName: null, phase: null } };
    await kubernetes.call('PATCH', `${userPath('halted@example.com')}/status`, noStatus, {
      'content-type': 'application/merge-patch+json',
    });

    expect(await createAdmin('halted@example.com', 'third')).to.contain('was made');
    const again = await entries(secretPath('third'));
    expect(again.password)
      .to.match(/^[\w-]{32}$/)
      .and.not.to.equal(password);
    expect(user.parse(await read(userPath('halted@example.com'))).status).to.include({ mustChangePassword: true, phase: 'Normal' });
    expect(await new Passwords().verify(again.password ?? '', (await entries(hashPath('halted@example.com'))).hash ?? '')).to.equal(
      'match',
    );
  });

  it('USR-16 does not make a removed user again, until the Secret is removed too', async () => {
    await kubernetes.call('DELETE', secretPath('third'));
    await createAdmin('gone@example.com', 'third');
    await kubernetes.remove(userPath('gone@example.com'));

    expect(await createAdmin('gone@example.com', 'third')).to.equal(
      'the administrator gone@example.com was removed; nothing was changed: to make a new one, remove the Secret third first',
    );
    expect((await kubernetes.call('GET', userPath('gone@example.com'))).status).to.equal(404);
  });

  it('takes a password from a file, keeps it out of the Secret, and then it is not due', async () => {
    await kubernetes.call('DELETE', secretPath('third'));
    const file = await passwordFile('a good long one\n');

    expect(await command('--email', 'filed@example.com', '--secret', 'third', '--password-file', file)).to.include({ code: 0 });

    expect(await entries(secretPath('third'))).to.deep.equal({ email: 'filed@example.com' });
    expect(user.parse(await read(userPath('filed@example.com'))).status).to.include({ mustChangePassword: false });
    expect(await new Passwords().verify('a good long one', (await entries(hashPath('filed@example.com'))).hash ?? '')).to.equal('match');
  });

  it('refuses a weak password, an invalid name, and a user who is not an administrator, in one line', async () => {
    const [account] = people.slice(-1);
    const spec = { email: account, username: '', connector_type: 'local', connector_id: 'local', connector_name: 'Local', is_admin: false };
    const name = recordName('plain@example.com') ?? '';
    await kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name }, spec });

    for (const [args, words] of [
      [['--email', 'x@example.com', '--password-file', await passwordFile('short')], 'at least 8 characters'],
      [['--email', 'two@at@example.com'], 'is not an e-mail address or login name'],
      [['--email', 'plain@example.com', '--secret', 'fourth'], 'is not a local administrator'],
    ] as const) {
      const { code, stdout, stderr } = await command(...args);
      expect({ code, stdout, lines: stderr.trim().split('\n').length }, words).to.deep.equal({ code: 1, stdout: '', lines: 1 });
      expect(stderr).to.contain(words).and.not.to.contain('short');
    }
  });

  it('names a missing right in one line, and exits with 2 for invalid settings', async () => {
    const forbidden = await command('--email', 'plain@example.com', '--secret', 'fifth');
    expect(forbidden).to.include({ code: 1 });
    expect(forbidden.stderr).to.match(/^the API server: secrets "fifth" is forbidden: .*\n$/);

    expect(await command('--email', 'x@example.com', '--password-file', join(directory, 'absent'))).to.include({ code: 2 });
    const external = join(directory, 'external.yaml');
    await writeFile(external, 'login: { issuer: "https://issuer.example.com" }\n');
    const { code, stderr } = await run(['create-admin', '--config', external, '--email', 'x@example.com'], {
      ATRIUM_KUBERNETES__KUBECONFIG: join(directory, 'kubeconfig.yaml'),
    });
    expect(code).to.equal(2);
    expect(stderr).to.contain('identity.enabled');
  });
});
