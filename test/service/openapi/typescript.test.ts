import { copyFile, readFile, symlink, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forSuite } from '../../support/for-suite.ts';
import { program } from '../../tools/clients/generator.ts';
import { expectFiveAnswers, serveClients } from '../../tools/clients/served.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Returns the types of a document. openapi-typescript uses the printer of the compiler, which TypeScript 7 does not have any more. */
async function typesOf(document: string): Promise<string> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  });
  try {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    return astToString(await openapiTS(await readFile(document, 'utf8')));
  } finally {
    hooks.deregister();
  }
}

describe('a client with the types that openapi-typescript makes', () => {
  const served = forSuite(() => serveClients());

  it('passes the compiler in strict mode, and reads five answers as they are typed', async () => {
    const { directory } = served;
    await writeFile(join(directory, 'atrium.ts'), await typesOf(served.document));
    await copyFile(path('../../tools/clients/typescript/client.ts'), join(directory, 'client.ts'));
    await copyFile(path('../../../tsconfig.json'), join(directory, 'base.json'));
    await writeFile(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ extends: './base.json', compilerOptions: { types: ['node'] }, include: ['*.ts'], exclude: [] }),
    );
    await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
    await symlink(path('../../../node_modules'), join(directory, 'node_modules'));
    await program(path('../../../node_modules/.bin/tsc'), ['-p', directory]);

    expectFiveAnswers(await program(process.execPath, [join(directory, 'client.ts')], { env: served.env }));
  });
});
