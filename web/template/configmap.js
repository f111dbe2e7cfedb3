/**
 * Prints the objects that install the built plugin in a cluster: a ConfigMap for each folder, and the ConsolePlugin that lets it run.
 *
 * Run: npm run --silent configmap | kubectl apply -f -
 * With --namespace NAME, where Atrium does not run in atrium-system.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * @typedef {{ apiVersion: string, kind: string, metadata: { name: string, namespace?: string, labels?: Record<string, string>,
 *   annotations?: Record<string, string> }, [member: string]: unknown }} PluginObject
 */

export const manifestName = 'plugin-manifest.json';

/**
 * Returns the paths of all files below a folder, with slashes.
 *
 * @param {string} folder
 */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();

/**
 * Returns a digest as a manifest names it.
 *
 * @param {string | Uint8Array} content
 */
export const digestOf = (content) => `sha256-${createHash('sha256').update(content).digest('base64')}`;

/**
 * Returns the ConfigMap with the files of one folder.
 *
 * @param {{ dist: string, folder: string, files: string[], name: string, namespace: string }} given
 * @returns {PluginObject}
 */
function configMapOf({ dist, folder, files, name, namespace }) {
  const isText = (/** @type {string} */ path) => /\.(js|css|json|svg|txt)$/.test(path);
  const contents = (/** @type {boolean} */ wanted, /** @type {'utf8' | 'base64'} */ encoding) =>
    Object.fromEntries(
      files.filter((path) => isText(path) === wanted).map((path) => [posix.basename(path), readFileSync(join(dist, path), encoding)]),
    );
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: [name, 'console', ...(folder === '.' ? [] : folder.split('/'))].join('-').toLowerCase(),
      namespace,
      labels: { 'console.platform.io/plugin': name, 'console.platform.io/public': 'true' },
      ...(folder !== '.' && { annotations: { 'console.platform.io/path': folder } }),
    },
    data: contents(true, 'utf8'),
    binaryData: contents(false, 'base64'),
  };
}

/**
 * @param {string} dist folder of the built plugin
 * @param {string} namespace
 * @returns {PluginObject[]}
 */
export function pluginObjects(dist, namespace) {
  const text = readFileSync(join(dist, manifestName), 'utf8');
  const { name, displayName } = JSON.parse(text);
  const files = filesIn(dist);
  const folders = [...new Set(files.map((path) => posix.dirname(path)))];
  const maps = folders.map((folder) =>
    configMapOf({ dist, folder, files: files.filter((path) => posix.dirname(path) === folder), name, namespace }),
  );
  const shown = typeof displayName === 'string' ? displayName : displayName?.en;
  const spec = { displayName: shown ?? name, integrity: digestOf(text) };
  return [...maps, { apiVersion: 'console.platform.io/v1', kind: 'ConsolePlugin', metadata: { name }, spec }];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { namespace: { type: 'string', default: 'atrium-system' } } });
  const dist = fileURLToPath(new URL('dist/', import.meta.url));
  console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pluginObjects(dist, values.namespace) }, null, 2));
}
