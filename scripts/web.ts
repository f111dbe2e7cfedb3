/**
 * Builds the console: types from our own OpenAPI document, then the pages by Vite into web/dist, with `.br` and `.gz` beside each file, and
 * the downloads for users' machines.
 *
 * Run: npm run web; npm run web:dev (a server that rebuilds what changes, in front of a running demo).
 * With --if-changed it does nothing while web/dist was made from these sources; with --types it writes the types alone.
 */
import './help.ts';
import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { InlineConfig, Plugin } from 'vite';
import { z } from 'zod';
import { textPacks } from './text-packs.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const web = join(root, 'web');
const types = join(web, 'src/api/schema.d.ts');
/** A plugin to copy, which the demo runs. */
const template = join(web, 'template');
const stampName = '.stamp';
/** Kilobytes of brotli allowed for the first page: everything that index.html names, and its imports. */
const firstLoadBudget = 55;
/** Kilobytes of brotli allowed for code that is loaded on demand, beside the code that is loaded by then. */
const heavyBudgets = [
  { what: 'editor', sources: ['src/editors/editor.ts'], budget: 150 },
  {
    what: 'completion',
    sources: ['src/editors/completion.ts'],
    budget: 20,
    after: ['src/pages/cluster/object/object.tsx', 'src/editors/editor.ts'],
  },
  { what: 'comparison', sources: ['src/editors/diff.ts'], budget: 10, after: ['src/editors/editor.ts'] },
  { what: 'terminal', sources: ['src/editors/terminal.ts'], budget: 80 },
  { what: 'chart', sources: ['src/editors/chart.ts'], budget: 25 },
];

const { values: options } = parseArgs({
  options: { 'if-changed': { type: 'boolean' }, types: { type: 'boolean' }, dev: { type: 'boolean' } },
});

const manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** Licence texts of packages, which their licences require beside their code. */
const licences: Plugin = {
  name: 'licences',
  apply: 'build',
  generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
    const packages = new Set(modules.flatMap((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []));
    const texts = [...packages].sort().map((directory) => {
      const { name, version, license } = manifest.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
      const files = globSync('{LICENSE,LICENCE,COPYING,NOTICE}*', { cwd: directory }).sort();
      return `== ${name}@${version} (${license})\n\n${files.map((file) => readFileSync(join(directory, file), 'utf8')).join('\n')}`;
    });
    this.emitFile({ type: 'asset', fileName: 'licences.txt', source: [...new Set(texts)].join('\n') });
  },
};

/** Replaces xterm's `<style>` elements, which the content security policy refuses: takes the same text, as a constructed sheet. */
const styleNode = `
function styleNode() {
  const [node, sheet] = [document.createComment(''), new CSSStyleSheet()];
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(node, 'textContent', { set: (text) => sheet.replaceSync(text) });
  const remove = node.remove.bind(node);
  node.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    remove();
  };
  return node;
}`;

/** Places where xterm writes styles, and their number: another release has to be checked. */
const xtermStyles = [
  { times: 3, found: /[\w.]+\.createElement\("style"\)/g, replacement: 'styleNode()' },
  {
    times: 1,
    found: /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g,
    replacement: '$1.style.cssText+=$2+";"',
  },
];

const xterm: Plugin = {
  name: 'styles of xterm as constructed sheets',
  transform(code, id) {
    if (!id.endsWith('/@xterm/xterm/lib/xterm.mjs')) return undefined;
    let text = code;
    for (const { times, found, replacement } of xtermStyles) {
      const count = text.match(found)?.length ?? 0;
      if (count !== times) throw new Error(`xterm has ${count} places like ${found}, and not ${times}`);
      text = text.replace(found, replacement);
    }
    if (/createElement\("style"\)|setAttribute\("style"/.test(text)) throw new Error('xterm writes styles in another way');
    return { code: text + styleNode, map: null };
  },
};

const config = {
  root: web,
  configFile: false,
  base: './',
  publicDir: 'static',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // Otherwise the development server bundles it before the plugin sees it.
  optimizeDeps: { exclude: ['@xterm/xterm'] },
  plugins: [
    licences,
    xterm,
    textPacks(join(web, 'src')),
    {
      name: 'base path of the development server',
      apply: 'serve',
      transformIndexHtml: (html) => html.replaceAll('%BASE%', '/'),
    },
  ],
} satisfies InlineConfig;

/** Modules of the pages of objects, and of the pages of users and access. */
const ofObjects = ['api/(?:openapi|schema-(?:document|fields|positions)|socket|use-object)', 'ui/(?:action-bar|meter)'].join('|');
const ofPeople = [
  'api/(?:create-binding|new-password)',
  'app/(?:asked|list-page|offers|request-durations|simulation|view-as)',
  'plugins/switch-off',
  'ui/(?:confirm|group-links|local-time|row-action)',
].join('|');

/** Pages of the cluster, apart from lists, and the pages of users and access, apart from the overview. */
const families = { cluster: /^pages\/cluster\/(?!list\/)/, people: /^pages\/(?!cluster\/|overview\/)/ } as const;

/** Matches the files of the icons that are drawn by one family of pages alone. */
function iconFiles(family: keyof typeof families): string {
  const [own, others] = [new Set<string>(), new Set<string>()];
  for (const file of globSync('**/*.{ts,tsx}', { cwd: join(web, 'src') })) {
    const [, names = ''] = /import \{([^}]*)\} from 'lucide'/.exec(readFileSync(join(web, 'src', file), 'utf8')) ?? [];
    for (const [name] of names.matchAll(/\w+/g)) (families[family].test(file) ? own : others).add(name);
  }
  return [...own]
    .filter((name) => !others.has(name))
    .map((name) => name.replaceAll(/(?<=.)(?=[A-Z])|(?<=\D)(?=\d)/g, '-').toLowerCase())
    .join('|');
}

/** Modules of lists, without which the overview does. */
const ofLists = [
  'api/(?:turns|use-windows|watch-objects|windows)',
  'app/(?:namespace-field|refused-menu)',
  'plugins/actions',
  'ui/(?:age|column-fit|combobox|search|table|table-widths)',
].join('|');
/** Modules of forms and of pages of one object, without which lists of the cluster do, too. */
const ofForms = [
  'api/(?:each|password|random-suffix|watch)',
  'app/(?:guard|guarded|own-password|query-choice)',
  'pages/users/query',
  'plugins/tab',
  'ui/(?:chips|copy|form|outcomes|save-as|tabs|unmount-signal)',
].join('|');

/** Modules that each page needs once a user is logged in, beside those of the first page. */
const parts = new RegExp(
  `web/src/(?!(?:${ofObjects}|${ofPeople}|${ofLists}|${ofForms})\\.)(?:(?:api|app)/.*|ui/(?!conflict|role-choice|rules).*|plugins/start|shell/later|pages/cluster/(?:events/event-groups|quantity|quantity-text|usage-amounts))\\.tsx?$|node_modules/lucide/(?!.*/icons/(?:${iconFiles('cluster')}|${iconFiles('people')})\\.)`,
);

/** Pages whose modules are sections of a user and of an account, which the list of users does not show. */
const personSections = 'access|bindings|sessions|tokens|user';

/** Files that several pages share. Without them, each module of two pages would be a file of its own. */
const files = [
  { name: 'console', tags: ['$initial' as const], priority: 3 },
  { name: 'parts', test: parts, priority: 2 },
  { name: 'lists', test: new RegExp(`web/src/(?:${ofLists})\\.`), priority: 2 },
  { name: 'forms', test: new RegExp(`web/src/(?:${ofForms})\\.`), priority: 2 },
  // The list includes its texts in English, the fallback for missing texts in other languages.
  { name: 'list', test: /pages\/cluster\/list\/list\.tsx$|virtual:texts\/en\/cluster$/, priority: 1 },
  {
    name: 'cluster',
    test: new RegExp(`pages/cluster/|web/src/(?:${ofObjects})\\.|lucide/.*/icons/(?:${iconFiles('cluster')})\\.`),
    minShareCount: 2,
  },
  // The overview shows the usage of the cluster without the pages of the cluster.
  { name: 'usage', test: /usage-history\/(?:metrics-right|usage-history)\./, priority: 1 },
  // Plugins draw charts on every page, and would load the pages of the cluster with them.
  { name: 'line-chart', test: /web\/src\/editors\/line-chart\.tsx$/, priority: 1 },
  {
    name: 'people',
    test: new RegExp(
      `pages/(?!(?:activity|cluster|${personSections})/)|web/src/(?:${ofPeople})\\.|lucide/.*/icons/(?:${iconFiles('people')})\\.`,
    ),
    minShareCount: 2,
    priority: 1,
  },
  // History of each object shows events as the page of all activity does.
  { name: 'activity', test: /pages\/activity\//, minShareCount: 2 },
  { name: 'person', test: new RegExp(`pages/(?:${personSections})/`), minShareCount: 2 },
];

/** Address of the service in development. */
const service = process.env.ATRIUM_URL ?? 'http://127.0.0.1:8080';

const manifestFile = z.record(
  z.string(),
  z.object({
    file: z.string(),
    imports: z.array(z.string()).optional(),
    css: z.array(z.string()).optional(),
  }),
);

if (options.dev) await serve();
else if (options.types) await writeTypes();
else {
  const stamp = await stampOfSources();
  const built = await readFile(join(web, 'dist', stampName), 'utf8').catch(() => '');
  if (!options['if-changed'] || built !== (await stampOfBuild(stamp))) await makeConsole(stamp);
}

async function stampOfSources(): Promise<string> {
  const files = globSync(
    [
      'web/{index.html,tsconfig.json}',
      'web/{src,static}/**/*',
      'web/template/{*,{src,public}/**/*}',
      'src/console/brand.ts',
      'packages/http/src/return-path.ts',
      'packages/kubernetes/src/resource-version.ts',
      'packages/objects/src/*',
      'package-lock.json',
      'packages/kubectl-atrium/{package.json,src/*}',
      'packages/oidc-client/src/client-authentication.ts',
      'scripts/{bundle-plugin,text-packs,web}.ts',
    ],
    { cwd: root },
  )
    .filter((path) => /\.\w+$/.test(path) && join(root, path) !== types)
    .sort();
  const lines = await Promise.all(files.map(async (path) => `${path} ${hash('sha256', await readFile(join(root, path)))}`));
  return hash('sha256', lines.join('\n'));
}

/** Returns the stamp of what was built from the sources: the manifest of the template names the digests of its files. */
async function stampOfBuild(stamp: string): Promise<string> {
  const built = await readFile(join(template, 'dist/plugin-manifest.json')).catch(() => '');
  return `${stamp} ${hash('sha256', built)}`;
}

/** Builds into a separate folder, and then moves it in one step to where it is served from: two builds at once end as one of them. */
async function makeConsole(stamp: string): Promise<void> {
  // Each start of mocha runs this script, and seldom builds.
  const [{ build }, { bundlePlugin, writeChecksum }] = await Promise.all([import('vite'), import('./bundle-plugin.ts')]);
  console.log('Building the console …');
  await writeTypes();
  const made = await mkdtemp(join(web, '.dist-'));
  try {
    await build({
      ...config,
      build: {
        outDir: made,
        target: 'es2022',
        manifest: true,
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        cssCodeSplit: false,
        // The service marks files as immutable if their names contain a hash of hex digits.
        rolldownOptions: {
          output: {
            hashCharacters: 'hex',
            entryFileNames: 'assets/[name]-[hash:8].js',
            chunkFileNames: 'assets/[name]-[hash:8].js',
            assetFileNames: 'assets/[name]-[hash:8][extname]',
            codeSplitting: { groups: [...files] },
          },
        },
        reportCompressedSize: false,
      },
      // The service writes the base path into HTML; everything else finds its neighbours by its own address.
      experimental: { renderBuiltUrl: (name, { hostType }) => (hostType === 'html' ? `%BASE%${name}` : { relative: true }) },
    });
    await build({ root: template, configFile: join(template, 'vite.config.ts'), logLevel: 'warn' });
    await compress(made);
    const program = join(made, 'downloads/kubectl-atrium');
    await bundlePlugin(program);
    await writeChecksum(program);
    await checkBudget(made);
    await writeFile(join(made, stampName), await stampOfBuild(stamp));
    await chmod(made, 0o755);
    const dist = join(web, 'dist');
    const old = `${made}-old`;
    await rename(dist, old).catch(() => undefined);
    await rename(made, dist);
    await rm(old, { recursive: true, force: true });
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    throw error;
  }
}

async function compress(directory: string): Promise<void> {
  for (const name of globSync('**/*.{js,css,svg,json,txt}', { cwd: directory })) {
    const path = join(directory, name);
    const bytes = await readFile(path);
    if (bytes.length < 512) continue;
    await writeFile(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }));
    await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

/** @throws Error if the first page or code that is loaded later is too large */
async function checkBudget(directory: string): Promise<void> {
  const manifestPath = join(directory, '.vite/manifest.json');
  const chunks = manifestFile.parse(JSON.parse(await readFile(manifestPath, 'utf8')));
  await rm(join(directory, '.vite'), { recursive: true });
  const filesOf = (keys: readonly string[], files = new Set<string>()): Set<string> => {
    for (const key of keys) {
      const chunk = chunks[key];
      if (chunk === undefined) throw new Error(`${key} is no chunk of the console`);
      if (files.has(chunk.file)) continue;
      for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
      filesOf(chunk.imports ?? [], files);
    }
    return files;
  };
  const html = await readFile(join(directory, 'index.html'), 'utf8');
  const first = filesOf(Object.keys(chunks).filter((key) => html.includes(`%BASE%${chunks[key]?.file}`)));
  const check = async (what: string, files: Iterable<string>, budget: number) => {
    const sizes = await Promise.all([...files].map(async (file) => brotliCompressSync(await readFile(join(directory, file))).length));
    const kilobytes = sizes.reduce((sum, size) => sum + size, 0) / 1024;
    console.log(`The ${what} of the console takes ${kilobytes.toFixed(1)} of ${budget} KB.`);
    if (kilobytes > budget) throw new Error(`the ${what} takes more than ${budget} KB of brotli`);
  };
  await check('first page', first, firstLoadBudget);
  for (const { what, sources, budget, after = [] } of heavyBudgets) {
    const there = filesOf(after, new Set(first));
    await check(
      what,
      [...filesOf(sources)].filter((file) => !there.has(file)),
      budget,
    );
  }
}

/** openapi-typescript prints with the compiler's own interface, which TypeScript 7 no longer has. */
async function writeTypes(): Promise<void> {
  const { App } = await import('../src/app.ts');
  // The console has pages of extensions that are off by default.
  const document = JSON.stringify(App.describe({ accessRequests: true, mcp: true }));
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  });
  try {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    const text = astToString(await openapiTS(document));
    await mkdir(join(web, 'src/api'), { recursive: true });
    if (text !== (await readFile(types, 'utf8').catch(() => ''))) await writeFile(types, text);
  } finally {
    hooks.deregister();
  }
}

async function serve(): Promise<void> {
  await writeTypes();
  const passedOn = ['/api', '/apis', '/auth', '/identity', '/openapi', '/plugins', '/docs', '/version'];
  const proxy = Object.fromEntries(passedOn.map((path) => [path, { target: service, ws: true }]));
  const { createServer } = await import('vite');
  const server = await createServer({ ...config, base: '/', server: { host: '127.0.0.1', port: 5173, strictPort: true, proxy } });
  await server.listen();
  server.printUrls();
}
