import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { grant } from '../../support/grants.ts';
import { follow, type KubectlTarget, kubectl } from '../../support/kubectl.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const ann = 'ann@example.com';
const ben = 'ben@example.com';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('kubectl --server at the service, below a base path', () => {
  let server: TestServer;
  let directory: string;
  let target: KubectlTarget;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    const file = async (name: string, text: string) => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    // kubectl sends no token to an address without TLS.
    const { authority, serving } = await loopbackCertificates();
    const tls = { certFile: await file('tls.crt', serving.certificate), keyFile: await file('tls.key', serving.key) };
    const port = await freePort();
    const url = `https://127.0.0.1:${port}/console`;
    server = await startServer({ config: { server: { port, publicURL: url, tls } } });
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(aUser(ann, { username: 'Ann Lee', groups: ['dev'] }), aUser(ben, { username: 'Ben' }));
    target = { url, caFile: await file('ca.crt', authority.certificate), token: await server.token('viewer') };
  });
  after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true });
  });

  const run = (...args: string[]) => kubectl(target, ...args);
  const output = async (...args: string[]) => {
    const { isDone, stdout, stderr } = await run(...args);
    expect(isDone, stderr).to.equal(true);
    return stdout;
  };
  const complaint = async (...args: string[]) => {
    const { isDone, stderr } = await run(...args);
    expect(isDone).to.equal(false);
    return stderr;
  };

  it('discovers the resources by one request', async () => {
    const { stdout, stderr } = await run('api-resources', '--output=wide', '--no-headers', '--v=6');

    expect(stdout.trim().split(/\n| {2,}/)).to.include.members(['users', 'auth.platform.io/v1', 'User', 'get,list,watch', 'platform-auth']);
    expect(stdout).to.match(/^selfsubjectaccessreviews +authorization\.orchestrator\.io\/v1 +false +SelfSubjectAccessReview +create/m);
    const asked = [...stderr.matchAll(/"Response" verb="GET" url="([^"]+)"/g)].map(([, url = '']) => new URL(url).pathname);
    expect(asked, stderr).to.deep.equal(['/console/api', '/console/apis']);
    expect((await output('api-versions')).trim().split('\n')).to.deep.equal(['auth.platform.io/v1', 'authorization.orchestrator.io/v1']);
  });

  it('shows the columns of the API server by get users', async () => {
    const [head = '', ...lines] = (await output('get', 'users')).trimEnd().split('\n');

    expect(head.trimEnd().split(/ {2,}/)).to.deep.equal(['NAME', 'USERNAME', 'DISPLAY NAME', 'SOURCE', 'PHASE', 'LAST LOGIN', 'AGE']);
    expect(lines.find((line) => line.startsWith(nameOf(ann)))).to.match(/ann@example\.com +Ann Lee +Local +Normal/);
    expect(await output('get', 'users', '-o', 'wide')).to.match(/GROUPS/);
    expect(await output('get', 'platform-auth')).to.contain(nameOf(ben));
  });

  it('shows the record by get user NAME -o yaml, and by describe', async () => {
    expect(await output('get', 'user', nameOf(ann), '-o', 'yaml')).to.match(/^ {2}email: ann@example\.com$/m);
    expect(await output('get', 'users.v1.auth.platform.io', nameOf(ann), '-o', 'jsonpath={.spec.username}')).to.equal('Ann Lee');
    expect(await output('describe', 'user', nameOf(ann))).to.match(/^ {2}Email: +ann@example\.com$/m);
  });

  it('selects and pages by get users', async () => {
    expect(await output('get', 'users', `--field-selector=spec.email=${ben}`, '-o', 'name')).to.equal(
      `user.auth.platform.io/${nameOf(ben)}\n`,
    );
    expect((await output('get', 'users', '--chunk-size=1', '-o', 'name')).trim().split('\n')).to.have.lengthOf(2);
  });

  it('follows changes by get users -w and by wait', async () => {
    const watching = follow(target, 'get', 'users', '--watch', '--output-watch-events', '--no-headers');
    const waiting = run('wait', `user/${nameOf(ben)}`, '--for=jsonpath={.spec.username}=Benjamin', '--timeout=120s', '--request-timeout=0');
    const path = `/apis/auth.platform.io/v1/users/${nameOf(ben)}`;
    const rename = (username: string) =>
      server.kubernetes.call('PATCH', path, { spec: { username } }, { 'content-type': 'application/merge-patch+json' });
    // Changes are repeated, because both commands begin at an unknown time.
    const told = [new RegExp(`^ADDED +${nameOf(ann)}`, 'm'), new RegExp(`^MODIFIED +${nameOf(ben)}`, 'm')];
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });
    try {
      for (let turn = 0; !isOver || !told.every((line) => line.test(watching.text())); turn += 1) {
        await rename(turn % 2 === 0 ? 'Benjamin' : 'Ben');
        await pause(200);
      }
    } finally {
      await watching.end();
    }

    expect((await waiting).stdout).to.match(/condition met/);
  });

  it('reports the version', async () => {
    expect((await run('version')).stdout).to.match(/^Server Version: v\d+\.\d+\.\d+/m);
  });

  it('refuses requests with the messages of the API server', async () => {
    target = { ...target, token: await server.token('nobody') };
    try {
      expect(await complaint('get', 'users')).to.match(
        /^Error from server \(Forbidden\): users\.auth\.platform\.io is forbidden: User "nobody"/,
      );
      expect(await complaint('get', 'users', '--token=nonsense')).to.match(/Unauthorized|must be logged in/);
    } finally {
      target = { ...target, token: await server.token('viewer') };
    }
  });

  it('names resources that are not served here', async () => {
    expect(await complaint('get', 'pods')).to.match(/doesn't have a resource type "pods"/);
    expect(await complaint('delete', 'user', nameOf(ann))).to.match(/\(MethodNotAllowed\): DELETE is not allowed on this path/);
    expect(await complaint('auth', 'can-i', 'list', 'users.auth.platform.io')).to.match(/\(NotFound\)/);
    expect(await complaint('explain', 'users')).to.match(/couldn't find resource/);
  });
});

describe('kubectl --server at the service, with tokens of service accounts and of the service', () => {
  const password = 'Zuihitsu-84-bloom';
  const service = forSuite(() => startEmbeddedLogin({ emails: [ann], password }));

  before(async () => {
    const { admin } = service;
    // Access tokens act as their owners.
    await admin.applyFile('impersonation.yaml');
    await admin.apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: serviceNamespace } },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'watchers' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
        subjects: [
          { kind: 'ServiceAccount', name: 'robot', namespace: serviceNamespace },
          { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: ann },
        ],
      },
    );
  });

  const names = async (token: string) => (await kubectl({ ...service, token }, 'get', 'users', '-o', 'name')).stdout;

  it('accepts the token of a service account', async () => {
    expect(await names(await service.admin.serviceToken('robot'))).to.equal(`user.auth.platform.io/${nameOf(ann)}\n`);
  });

  it('accepts the ID token of the embedded issuer, and an access token', async () => {
    const { body } = await service.logIn(ann, password, '?token_storage=local');
    const { ext } = z.object({ ext: z.object({ token: z.object({ id_token: z.string() }) }) }).parse(JSON.parse(body));
    const made = await service.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: { authorization: `Bearer ${ext.token.id_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'kubectl' }),
    });
    const { token } = z.object({ token: z.string() }).parse(await made.json());

    expect(await names(ext.token.id_token)).to.equal(`user.auth.platform.io/${nameOf(ann)}\n`);
    expect(await names(token)).to.equal(`user.auth.platform.io/${nameOf(ann)}\n`);
  });
});
