/** Bundles kubectl's login for users' machines as one file, for `npm run build` and for the downloads of the console. */
import { hash } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));

export const shared = {
  bundle: true,
  platform: 'node',
  mainFields: ['module', 'main'],
  metafile: true,
} satisfies BuildOptions;

/** Every Node.js since 14 can read it, as a module or not: the name of the file and its folder decide which of them it is. */
export const readable = { format: 'iife', target: 'node14', minify: true, keepNames: true } satisfies BuildOptions;

/** Writes the program. The same sources give the same bytes, wherever they are. */
export async function bundlePlugin(outfile: string) {
  const built = await build({
    ...shared,
    ...readable,
    absWorkingDir: root,
    // A module has no `require`, and a new enough Node.js provides one.
    banner: {
      js: "var require=typeof require=='function'?require:process.getBuiltinModule&&process.getBuiltinModule('module').createRequire(process.execPath);",
    },
    entryPoints: ['packages/kubectl-atrium/src/kubectl-atrium.js'],
    outfile,
  });
  await chmod(outfile, 0o755);
  return built;
}

/** Writes the checksum of a file beside it, for `sha256sum --check`. */
export async function writeChecksum(file: string): Promise<string> {
  const sum = hash('sha256', await readFile(file));
  await writeFile(`${file}.sha256`, `${sum}  ${basename(file)}\n`);
  return sum;
}
