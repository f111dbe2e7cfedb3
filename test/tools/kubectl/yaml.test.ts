/** Compares the expectations of the console's tests with kubectl's reading of YAML. UPDATE_YAML=1 rewrites them. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { parseJson, stringifyJson } from '../../../web/src/api/json.ts';
import { stringify } from '../../../web/src/editors/yaml.ts';
import { casesFile, type YamlCase, yamlCases, yamlObject, yamlTexts } from '../../support/kubectl-yaml.ts';

/** Runs a command that reads a file without a server. @returns undefined if it refuses the file */
function readByKubectl(yaml: string): Promise<{ spec: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    const args = ['--kubeconfig=/dev/null', 'label', '--local', '-f', '-', '-o', 'json', 'suite=yaml'];
    const { stdin } = execFile('kubectl', args, (error, stdout) => {
      if (error?.code === 'ENOENT') reject(new Error('kubectl is not in PATH; how to install it: https://kubernetes.io/docs/tasks/tools/'));
      else resolve(error ? undefined : (parseJson(stdout) as { spec: unknown }));
    });
    stdin?.end(yaml);
  });
}

describe('kubectl and the YAML of the console', () => {
  it('cases/03 kubectl reads each case as the console does', async () => {
    const read: YamlCase[] = [];
    for (const [yaml] of yamlCases) {
      const object = await readByKubectl(yamlObject(yaml));
      read.push([yaml, object === undefined ? null : stringifyJson(object.spec)]);
    }
    if (process.env.UPDATE_YAML) await writeFile(casesFile, `[\n${read.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]\n`);
    expect(read).to.deep.equal(yamlCases);
  });

  it('cases/14 kubectl reads each text of the console unchanged', async () => {
    const spec = { list: yamlTexts, members: Object.fromEntries(yamlTexts.map((text) => [text, 1])) };
    const object = await readByKubectl(stringify({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec }));

    expect(object?.spec).to.deep.equal(spec);
  });
});
