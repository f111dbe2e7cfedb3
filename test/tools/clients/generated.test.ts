import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forSuite } from '../../support/for-suite.ts';
import { generate, program, python } from './generator.ts';
import { expectFiveAnswers, serveClients } from './served.ts';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe('clients that openapi-generator makes from the OpenAPI document', () => {
  const served = forSuite(() => serveClients());

  it('Go: compiles, and reads five answers into its types', async () => {
    const directory = join(served.directory, 'go');
    await generate('go', served.document, directory);
    await mkdir(join(directory, 'calls'));
    await copyFile(source('go/main.go'), join(directory, 'calls', 'main.go'));
    await program('go', ['build', '-mod=mod', '-o', 'calls.exe', './calls'], { cwd: directory });

    expectFiveAnswers(await program(join(directory, 'calls.exe'), [], { env: served.env }));
  });

  it('Python: imports, and reads five answers into its models', async () => {
    const directory = join(served.directory, 'python');
    await generate('python', served.document, directory);
    const printed = await program(await python(), [source('python/client.py')], { env: { ...served.env, PYTHONPATH: directory } });

    expectFiveAnswers(printed);
  });
});
