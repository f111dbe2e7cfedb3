/** Compares the expectations of the console's tests with kubectl's reading of YAML. UPDATE_YAML=1 rewrites them. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseJson, stringifyJson } from '../../../../web/src/api/json.ts';
import { stringify } from '../../../../web/src/editors/yaml.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { casesFile, type YamlCase, yamlCases, yamlObject, yamlTexts } from '../../../support/kubectl-yaml.ts';

interface Thing {
  metadata: { name: string };
  spec: unknown;
}

/** Runs a command that reads files without a server. kubectl leaves out files that it refuses, and reads the others. */
function readByKubectl(files: readonly string[]): Promise<Thing[]> {
  return new Promise((resolve, reject) => {
    const args = ['--kubeconfig=/dev/null', 'label', '--local', ...files.map((file) => `--filename=${file}`), '-o', 'json', 'suite=yaml'];
    execFile('kubectl', args, { maxBuffer: 1 << 24 }, (error, stdout) => {
      if (error?.code === 'ENOENT') reject(new Error('kubectl is not in PATH; how to install it: https://kubernetes.io/docs/tasks/tools/'));
      // A brace in the first column ends an object.
      else resolve(stdout.split(/(?<=^\}\n)(?=\{)/m).map((json) => parseJson(json) as Thing));
    });
  });
}

describe('kubectl and the YAML of the console', () => {
  const directory = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-yaml-')) }),
    ({ path }) => rm(path, { recursive: true }),
  );

  it('cases/03 agree on each case', async () => {
    const named = yamlCases.map(([yaml], index) => ({ yaml, name: `case-${index}` }));
    const files = await Promise.all(
      named.map(async ({ yaml, name }) => {
        const file = join(directory.path, `${name}.yaml`);
        await writeFile(file, yamlObject(yaml, name));
        return file;
      }),
    );
    const specs = new Map((await readByKubectl(files)).map(({ metadata: { name }, spec }) => [name, stringifyJson(spec)]));
    const read = named.map(({ yaml, name }): YamlCase => [yaml, specs.get(name) ?? null]);
    if (process.env.UPDATE_YAML) await writeFile(casesFile, `[\n${read.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]\n`);
    expect(read).to.deep.equal(yamlCases);
  });

  it('cases/14 agree on each text of the console', async () => {
    const spec = { list: yamlTexts, members: Object.fromEntries(yamlTexts.map((text) => [text, 1])) };
    const file = join(directory.path, 'texts.yaml');
    await writeFile(file, stringify({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec }));

    expect((await readByKubectl([file])).map((object) => object.spec)).to.deep.equal([spec]);
  });
});
