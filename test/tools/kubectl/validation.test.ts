import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { type KubectlTarget, kubectl as run } from '../../support/kubectl.ts';

const map = (value: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'validated', namespace: 'default' },
  data: { value },
  ...more,
});
const plugin = (more: object = {}) => ({
  apiVersion: 'console.platform.io/v1',
  kind: 'ConsolePlugin',
  metadata: { name: 'validated' },
  spec: { displayName: 'Validated', ...more },
});
const list = (...items: object[]) => ({ apiVersion: 'v1', kind: 'List', items });

// kubectl validates an object by the parameter fieldValidation if OpenAPI v3 has it, and a List by itself with OpenAPI v2.
for (const door of ['the API server', '/api/kubernetes'])
  describe(`kubectl validates with ${door}`, () => {
    let service: EmbeddedLogin;
    let directory: string;
    let target: KubectlTarget;

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
      service = await startEmbeddedLogin({ emails: ['ann@example.com'], password: 'Zuihitsu-84-bloom' });
      const token = await service.cluster.token('admin');
      const url = door === 'the API server' ? service.cluster.url : `${service.url}/api/kubernetes`;
      target = { url, caFile: service.caFile, token };
    });
    after(async () => {
      await service?.stop();
      await rm(directory, { recursive: true });
    });

    const kubectl = (...args: string[]) => run(target, '--namespace=default', ...args);
    async function file(value: object): Promise<string> {
      const path = join(directory, 'file.yaml');
      await writeFile(path, stringify(value));
      return path;
    }

    it('objects and Lists that are applied', async () => {
      const applied = await kubectl('apply', '-f', await file(list(map('one'), plugin())));
      expect(applied).to.deep.include({
        isDone: true,
        stdout: 'configmap/validated created\nconsoleplugin.console.platform.io/validated created\n',
      });
      const refused = await kubectl('apply', '-f', await file(list(map('one', { daten: {} }))));
      expect(refused.stderr).to.contain('unknown field "daten" in io.k8s.api.core.v1.ConfigMap');
      const number = await kubectl('apply', '-f', await file(list(map('one', { immutable: 'perhaps' }))));
      expect(number.stderr).to.contain('ConfigMap.immutable): invalid type');
      const one = await kubectl('apply', '-f', await file(map('one', { daten: {} })));
      expect(one.stderr).to.contain('unknown field "daten"');
    });

    it('objects that are created, compared, edited and replaced', async () => {
      await kubectl('delete', '--ignore-not-found', '-f', await file(list(map('one'), plugin())));
      const created = await kubectl('create', '-f', await file(list(map('one'), plugin())));
      expect(created.stdout).to.equal('configmap/validated created\nconsoleplugin.console.platform.io/validated created\n');
      const compared = await kubectl('diff', '-f', await file(list(map('two'), plugin())));
      expect(compared.stdout)
        .to.match(/^- {2}value: one$/m)
        .and.to.match(/^\+ {2}value: two$/m);
      const replaced = await kubectl('replace', '-f', await file(list(map('two'), plugin({ displayName: 'Replaced' }))));
      expect(replaced.stdout).to.equal('configmap/validated replaced\nconsoleplugin.console.platform.io/validated replaced\n');
      process.env.KUBE_EDITOR = 'sed -i s/two/three/;s/Replaced/Edited/';
      try {
        const edited = await kubectl('edit', 'configmap/validated', 'consoleplugin/validated');
        expect(edited.stdout).to.equal('configmap/validated edited\nconsoleplugin.console.platform.io/validated edited\n');
      } finally {
        delete process.env.KUBE_EDITOR;
      }
      expect((await kubectl('get', 'configmap', 'validated', '-o', 'jsonpath={.data.value}')).stdout).to.equal('three');
    });

    it('fields that it explains', async () => {
      for (const version of [[], ['--output=plaintext-openapiv2']])
        for (const [path, type] of [
          ['configmap.data', 'map[string]string'],
          ['consoleplugin.spec.displayName', 'string'],
        ] as const)
          expect((await kubectl('explain', path, ...version)).stdout, path).to.contain(`<${type}>`);
    });
  });
