/**
 * Builds a sample plugin of web/samples and prints the objects that install it.
 *
 * Run: npm run --silent sample NAME | kubectl apply -f -
 * With --namespace NAME, where Atrium does not run in atrium-system.
 */
import './help.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, type UserConfig } from 'vite';

const web = new URL('../web/', import.meta.url);
const samples = fileURLToPath(new URL('samples/', web));

const { values, positionals } = parseArgs({
  options: { namespace: { type: 'string', default: 'atrium-system' } },
  allowPositionals: true,
});
const names = await readdir(samples);
const [name = ''] = positionals;
if (!names.includes(name)) {
  console.error(`Name one of the samples: ${names.join(', ')}`);
  process.exit(1);
}

const { pluginConfig } = (await import(new URL('template/vite.config.ts', web).href)) as {
  pluginConfig: (folder: string, dist: string) => UserConfig;
};
const { pluginObjects } = (await import(new URL('template/configmap.js', web).href)) as {
  pluginObjects: (built: string, namespace: string) => unknown[];
};
const dist = await mkdtemp(join(tmpdir(), 'atrium-sample-'));
try {
  await build({ ...pluginConfig(join(samples, name), dist), configFile: false, logLevel: 'warn' });
  console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pluginObjects(dist, values.namespace) }, null, 2));
} finally {
  await rm(dist, { recursive: true });
}
