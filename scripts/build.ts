/**
 * Builds the service as one program: `dist/atrium.js`, with the parts that only some commands load beside it (`dist/parts`), and the
 * licences of everything that went into it (`dist/LICENSES.txt`).
 *
 * Parts, because what is loaded is resident: one file with the reader of kubeconfigs and the embedded cluster in it costs 50 MB more.
 *
 * Run: npm run build [-- --outfile elsewhere/atrium.js]
 */
import { globSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { z } from 'zod';

const manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

const { values } = parseArgs({ options: { outfile: { type: 'string', default: 'dist/atrium.js' } } });
const { dir: outdir, name } = parse(values.outfile);

await rm(join(outdir, 'parts'), { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { [name]: 'src/main.ts' },
  outdir,
  chunkNames: 'parts/[name]-[hash]',
  bundle: true,
  splitting: true,
  minify: true,
  keepNames: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  mainFields: ['module', 'main'],
  // The first is loaded by a thread of its own and only for people; the second is what a test runner happens to bring.
  external: ['pino-pretty', 'supports-color'],
  banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
  metafile: true,
});

const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
const notices = await Promise.all([...packages].sort().map(noticeOf));
await writeFile(join(outdir, 'LICENSES.txt'), [...new Set(notices)].join('\n'));

const bytes = Object.entries(metafile.outputs).map(([path, output]) => `${(output.bytes / 1024).toFixed(0).padStart(6)} kB  ${path}`);
console.log(bytes.join('\n'));

async function noticeOf(directory: string): Promise<string> {
  const { name, version, license } = manifest.parse(JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')));
  const files = globSync('{LICENSE,LICENCE,COPYING,NOTICE}*', { cwd: directory })
    .filter((file) => dirname(file) === '.')
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return `== ${name}@${version} (${license})\n\n${texts.join('\n')}`;
}
