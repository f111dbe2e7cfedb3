import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { z } from 'zod';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { follow, kubectl } from '../../support/kubectl.ts';

const ann = 'ann@example.com';
const password = 'Zuihitsu-84-bloom';

const bound = (name: string, role: string, subject: Record<string, string>) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [subject],
});

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`kubectl --server=…/api/kubernetes, ${credentials}`, () => {
    let service: EmbeddedLogin;
    let directory: string;
    /** Tokens by their kind. */
    const tokens: Record<string, string> = {};

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
      service = await startEmbeddedLogin({ emails: [ann], password, credentials });
      const { admin } = service;
      // Access tokens act as their owners.
      await admin.applyFile('impersonation.yaml');
      await admin.apply(
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: serviceNamespace } },
        bound('robot-edits', 'edit', { kind: 'ServiceAccount', name: 'robot', namespace: serviceNamespace }),
        bound('ann-edits', 'edit', { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: ann }),
      );
      const { body } = await service.logIn(ann, password, '?token_storage=local');
      const { ext } = z.object({ ext: z.object({ token: z.object({ id_token: z.string() }) }) }).parse(JSON.parse(body));
      const made = await service.request('/auth/v1/accesstoken', {
        method: 'POST',
        headers: { authorization: `Bearer ${ext.token.id_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ description: 'kubectl' }),
      });
      tokens.id = ext.token.id_token;
      tokens.access = z.object({ token: z.string() }).parse(await made.json()).token;
      tokens.robot = await admin.serviceToken('robot');
    });
    after(async () => {
      await service?.stop();
      await rm(directory, { recursive: true });
    });

    const targetOf = (kind: string) => ({ url: `${service.url}/api/kubernetes`, caFile: service.caFile, token: tokens[kind] ?? '' });
    const run = (kind: string, ...args: string[]) => kubectl(targetOf(kind), ...args);
    const output = async (kind: string, ...args: string[]) => {
      const { isDone, stdout, stderr } = await run(kind, ...args);
      expect(isDone, stderr).to.equal(true);
      return stdout;
    };

    for (const kind of ['id', 'access', 'robot'])
      it(`applies, gets, describes, edits and deletes with the token: ${kind}`, async () => {
        const file = join(directory, `${kind}.yaml`);
        const map = (value: string) =>
          writeFile(
            file,
            stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: kind, namespace: 'default' }, data: { value } }),
          );
        await map('one');
        expect(await output(kind, 'apply', '-f', file)).to.equal(`configmap/${kind} created\n`);
        expect(await output(kind, 'get', 'configmap', kind, '-o', 'jsonpath={.data.value}')).to.equal('one');
        await map('two');
        await output(kind, 'apply', '-f', file);
        expect(await output(kind, 'get', 'configmaps', '-o', 'wide')).to.match(new RegExp(`^${kind} `, 'm'));
        expect(await output(kind, 'describe', 'configmap', kind)).to.match(/two/);
        await output(kind, 'label', 'configmap', kind, 'a=b');
        expect(await output(kind, 'get', 'configmaps', '-l', 'a=b', '-o', 'name')).to.equal(`configmap/${kind}\n`);
        await output(kind, 'delete', 'configmap', kind);
      });

    it('reports identity and rights of the caller', async () => {
      expect(await output('id', 'auth', 'can-i', 'create', 'configmaps')).to.equal('yes\n');
      expect((await run('id', 'auth', 'can-i', 'create', 'clusterroles')).stdout).to.equal('no\n');
      for (const kind of ['id', 'access'])
        expect(await output(kind, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).to.equal(ann);
      expect((await run('id', 'get', 'secrets', '-n', 'kube-system', '--as=admin')).stderr).to.match(
        /cannot list resource "secrets" as "admin"/,
      );
      expect((await run('id', 'get', 'clusterroles')).stderr).to.match(/\(Forbidden\): clusterroles.* User "ann@example.com" cannot list/);
      expect((await run('id', 'get', 'pods', '--token=nonsense')).stderr).to.match(/Unauthorized|must be logged in/);
    });

    it('follows changes', async () => {
      const watching = follow(targetOf('id'), 'get', 'configmaps', '--watch', '--output-watch-events', '--no-headers');
      const told = [/^ADDED +flickering/m, /^DELETED +flickering/m];
      try {
        for (let turn = 0; !told.every((line) => line.test(watching.text())); turn += 1) {
          await output('robot', turn % 2 === 0 ? 'create' : 'delete', 'configmap', 'flickering');
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      } finally {
        await watching.end();
      }
      await run('robot', 'delete', 'configmap', 'flickering', '--ignore-not-found');
    });

    it('creates no credential with an access token, by POST or by apply', async () => {
      await service.admin.apply(
        bound('ann-administers', 'cluster-admin', { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: ann }),
      );
      const file = join(directory, 'user.yaml');
      await writeFile(
        file,
        stringify({ apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name: 'x' }, spec: { email: 'x@example.com' } }),
      );
      for (const args of [
        ['create', 'token', 'robot', '-n', serviceNamespace],
        ['apply', '--server-side', '-f', file],
        ['create', '-f', file, '--validate=false'],
      ]) {
        const { isDone, stderr } = await run('access', ...args);
        expect([isDone, stderr], args.join(' ')).to.satisfy(
          ([done, text]: [boolean, string]) => !done && /an access token cannot/.test(text),
        );
      }
      expect(await output('id', 'create', 'token', 'robot', '-n', serviceNamespace)).to.match(/^ey/);
      expect(await output('access', 'get', 'users', '-o', 'name')).to.match(/^user\.auth\.platform\.io\//);
    });
  });
