/**
 * Builds the service as one program, `dist/atrium.js`, with everything that it loads beside it (`dist/parts`); the login of kubectl as one
 * file for users' machines, `dist/kubectl-atrium`; and the licences of everything in them (`dist/LICENSES.txt`).
 *
 * The service has parts because loaded code stays in memory: one file with the kubeconfig reader and the embedded cluster costs 50 MB more.
 * The demo is in neither program: `atrium sandbox` of a built program runs the sources of the repository. Both programs begin with
 * node-version.js: an old Node.js must be able to read the message that it is too old.
 *
 * Run: npm run build [-- --outfile elsewhere/atrium.js]
 */
import './help.ts';
import { globSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Plugin, transform } from 'esbuild';
import { z } from 'zod';
import { bundlePlugin, readable, shared } from './bundle-plugin.ts';

const manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

const { values } = parseArgs({ options: { outfile: { type: 'string', default: 'dist/atrium.js' } } });
const { dir: outdir, name } = parse(values.outfile);

/** The package requires `reflect-metadata` before it without importing it, and esbuild would choose the order of parts. */
const withReflectMetadata: Plugin = {
  name: 'with reflect-metadata',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/tsyringe\/.*\/index\.js$/ }, async ({ path }) => ({
      contents: `import 'reflect-metadata';\n${await readFile(path, 'utf8')}`,
    }));
  },
};

/**
 * Packages that depend on the names of their classes: oidc-provider stores them as the kind of a record, others use them as names of
 * errors. A bundle renames such a class if its name is taken. Names are kept for these packages only: each of esbuild's calls names a
 * function when it is created, which costs a closure on the path of a request more than its own work.
 */
const withClassNames: Plugin = {
  name: 'with the names of classes',
  setup({ onLoad }) {
    const namedPackages = /\/node_modules\/(?:oidc-provider|openid-client|oauth4webapi|jose|ldapts|@peculiar\/[^/]+)\/.*\.m?js$/;
    onLoad({ filter: namedPackages }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { keepNames: true, target: 'node24' });
      return { contents: code };
    });
  },
};

/**
 * Only one class of the JavaScript client, which reads kubeconfigs, is used. Its package does not declare that the five megabytes of types
 * beside it have no side effects.
 */
const withoutTypes: Plugin = {
  name: 'without the types of the Kubernetes API',
  setup({ onResolve, resolve }) {
    const client = '@kubernetes/client-node';
    onResolve({ filter: new RegExp(`^${client}$`) }, async ({ path, pluginData, ...from }) =>
      pluginData === client ? undefined : { ...(await resolve(path, { ...from, pluginData: client })), sideEffects: false },
    );
    // Modules of the package import each other by file. Asking esbuild to resolve each of these thousands takes longer than the rest of the
    // build.
    onResolve({ filter: /^\..*\.js$/ }, ({ path, importer, resolveDir }) =>
      importer.includes(`/node_modules/${client}/`) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/**
 * Loaded code stays in memory, and these modules are never used: the messages of zod in some sixty languages, and the tables of encodings
 * that raw-body brings to return text. The service reads bytes, and accepts UTF-8 only.
 */
const withoutOtherLanguages: Plugin = {
  name: 'without other languages',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export { default as en } from './en.js';" }));
    onLoad({ filter: /\/node_modules\/iconv-lite\/lib\/index\.js$/ }, () => ({
      contents: "exports.getDecoder = (name) => { throw new Error('Encoding not recognized: ' + name); };",
    }));
  },
};

/**
 * The sources of the service import four names of undici, but its index loads the rest of it as well: fetch, WebSocket, caches, and test
 * helpers. The build fails if they import another name. Code that is loaded for one command alone gets all of undici.
 */
const withoutBrowserAPIs: Plugin = {
  name: 'without the browser APIs of undici',
  setup({ onResolve, onLoad }) {
    const sources = join(process.cwd(), 'src/');
    onResolve({ filter: /^undici$/ }, ({ path, importer }) =>
      importer.startsWith(sources) ? { path, namespace: 'dispatchers' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'dispatchers' }, () => ({
      resolveDir: process.cwd(),
      contents: `
        import api from 'undici/lib/api/index.js';
        import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
        Object.assign(Dispatcher.prototype, api);
        export { default as Agent } from 'undici/lib/dispatcher/agent.js';
        export { default as Client } from 'undici/lib/dispatcher/client.js';
        export { default as Pool } from 'undici/lib/dispatcher/pool.js';
        export { default as buildConnector } from 'undici/lib/core/connect.js';
      `,
    }));
  },
};

/**
 * The OpenID provider reads the time of the service (`src/identity/oidc-provider.ts`). The build fails if it no longer has such a module.
 */
const withServiceTime: Plugin = {
  name: 'with the time of the service',
  setup({ onResolve, onEnd }) {
    let isReplaced = false;
    onResolve({ filter: /\/epoch_time\.js$/ }, ({ importer }) => {
      if (!importer.includes('/node_modules/oidc-provider/')) return undefined;
      isReplaced = true;
      return { path: join(process.cwd(), 'src/identity/epoch-time.ts') };
    });
    onEnd(() => {
      if (!isReplaced) throw new Error('oidc-provider reads the time in another way');
    });
  },
};

/** The embedded cluster and its demo stay in the repository, where the demo can run. */
const withoutDemo: Plugin = {
  name: 'without the demo',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/sandbox\.ts$/ }, () => ({ path: '../../src/sandbox.ts', external: true }));
  },
};

await rm(join(outdir, 'parts'), { recursive: true, force: true });
const service = await build({
  ...shared,
  // Names stay as they are, because stack traces in the log are read by people.
  minifyWhitespace: true,
  minifySyntax: true,
  target: 'node24',
  format: 'esm',
  // CommonJS packages in the bundle call `require`.
  banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
  // Workers are programs of their own, which `SqliteStore` and `BatchReader` start by their names.
  entryPoints: {
    main: 'src/main.ts',
    'sqlite-worker': 'packages/audit-store/src/sqlite-worker.ts',
    'api-server-worker': 'src/store-server/api-server-worker.ts',
  },
  outdir: join(outdir, 'parts'),
  chunkNames: '[name]-[hash]',
  splitting: true,
  plugins: [withReflectMetadata, withClassNames, withoutTypes, withoutOtherLanguages, withoutBrowserAPIs, withServiceTime, withoutDemo],
  // Licence comments are moved to LICENSES.txt, because names in them are not always ASCII.
  legalComments: 'external',
  // An optional dependency that test runners install.
  external: ['supports-color'],
});

const leftOut = /^packages\/(?:demo|embedded-cluster)\/|\/zod\/v4\/locales\/(?!en\.|index\.)|\/iconv-lite\/encodings\//;
const unwanted = Object.keys(service.metafile.inputs).filter((path) => leftOut.test(path));
if (unwanted.length > 0) throw new Error(`in the service, which does without them: ${unwanted.join(', ')}`);

const legalComments: string[] = [];
for (const path of Object.keys(service.metafile.outputs)) {
  const text = await readFile(path, 'utf8');
  if (path.endsWith('.LEGAL.txt')) {
    legalComments.push(text);
    await rm(path);
    continue;
  }
  // A single wide character makes Node.js keep a whole large part in two bytes per character. esbuild escapes them in strings, but not in
  // templates.
  const [wide] = /[\u0080-\uffff]/.exec(text) ?? [];
  if (wide !== undefined) throw new Error(`${path} holds ${wide}, a character beyond ASCII`);
}

await build({
  ...shared,
  ...readable,
  entryPoints: { [name]: 'src/atrium.js' },
  outdir,
  plugins: [
    {
      name: 'the parts beside it',
      setup({ onResolve }) {
        onResolve({ filter: /main\.ts$/ }, ({ kind }) =>
          kind === 'entry-point' ? undefined : { path: './parts/main.js', external: true },
        );
      },
    },
  ],
});
const plugin = await bundlePlugin(join(outdir, 'kubectl-atrium'));

// Two files of a package that are served, not run. The program looks for them where an installation has all packages.
const servedPackage = 'node_modules/swagger-ui-dist';
const served = join(outdir, servedPackage);
await mkdir(served, { recursive: true });
for (const file of ['package.json', 'swagger-ui.css', 'swagger-ui-bundle.js']) {
  await copyFile(join(servedPackage, file), join(served, file));
  if (file !== 'package.json') await writeFile(join(served, `${file}.gz`), gzipSync(await readFile(join(served, file)), { level: 9 }));
}

const packages = new Set(
  Object.keys({ ...service.metafile.inputs, ...plugin.metafile.inputs }).flatMap(
    (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  ),
);
packages.add(servedPackage);
const notices = await Promise.all([...packages].sort().map(noticeOf));
await writeFile(join(outdir, 'LICENSES.txt'), [...new Set([...notices, ...legalComments])].join('\n'));

const bytes = Object.entries({ ...service.metafile.outputs, ...plugin.metafile.outputs }).map(
  ([path, output]) => `${(output.bytes / 1024).toFixed(0).padStart(6)} kB  ${path}`,
);
console.log(bytes.join('\n'));

async function noticeOf(directory: string): Promise<string> {
  const { name, version, license } = manifest.parse(JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')));
  const files = globSync('{LICENSE,LICENCE,COPYING,NOTICE,swagger-ui-bundle.js.LICENSE}*', { cwd: directory })
    .filter((file) => dirname(file) === '.')
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return `== ${name}@${version} (${license})\n\n${texts.join('\n')}`;
}
