import { copyFile, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { generate, oapiGenerate, program, python, pythonClient } from './generator.ts';
import { expectFiveAnswers, serveClients } from './served.ts';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe('clients that openapi-generator makes from the OpenAPI document', () => {
  const served = forSuite(() => serveClients());

  it('compile, and read five answers into their types: Go', async () => {
    const directory = join(served.directory, 'go');
    await generate('go', served.document, directory);
    await mkdir(join(directory, 'calls'));
    await copyFile(source('go/main.go'), join(directory, 'calls', 'main.go'));
    await program('go', ['build', '-mod=mod', '-o', 'calls.exe', './calls'], { cwd: directory });

    expectFiveAnswers(await program(join(directory, 'calls.exe'), [], { env: served.env }));
  });

  it('import, and read five answers into their models: Python', async () => {
    const directory = join(served.directory, 'python');
    await generate('python', served.document, directory);
    const printed = await program(await python('python'), [source('python/client.py')], { env: { ...served.env, PYTHONPATH: directory } });

    expectFiveAnswers(printed);
  });
});

describe('clients of other generators', () => {
  const served = forSuite(() => serveClients());

  it('compile, and read five answers into their types: oapi-codegen', async () => {
    const directory = join(served.directory, 'oapi-codegen');
    await cp(source('oapi-codegen'), directory, { recursive: true });
    await mkdir(join(directory, 'atrium'));
    await oapiGenerate(served.document, join(directory, 'atrium', 'client.gen.go'));
    await program('go', ['build', '-o', 'calls.exe', '.'], { cwd: directory });

    expectFiveAnswers(await program(join(directory, 'calls.exe'), [], { env: served.env }));
  });

  it('keep all operations and models, and read five answers: openapi-python-client', async () => {
    const directory = join(served.directory, 'openapi-python-client');
    expect(await pythonClient(served.document, directory)).to.not.match(/warning|error|unable/i);
    const python3 = await python('openapi-python-client');
    const printed = await program(python3, [source('openapi-python-client/client.py')], { env: { ...served.env, PYTHONPATH: directory } });

    expectFiveAnswers(printed);
  });
});
