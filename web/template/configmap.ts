/**
 * Prints what puts the built plugin into a cluster: a ConfigMap for each folder, and the ConsolePlugin that lets it run.
 *
 * Run: npm run --silent configmap | kubectl apply -f -
 * With --namespace NAME, where Atrium does not run in atrium-system.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseArgs } from 'node:util';

export interface PluginObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [member: string]: unknown;
}

const manifestName = 'plugin-manifest.json';

export function pluginObjects(dist: string, namespace: string): PluginObject[] {
  const text = readFileSync(join(dist, manifestName), 'utf8');
  const { name, displayName } = JSON.parse(text) as { name: string; displayName?: string | { en?: string } };
  const files = globSync('**/*.*', { cwd: dist })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
  const folders = [...new Set(files.map((path) => posix.dirname(path)))];
  const maps = folders.map((folder): PluginObject => {
    const inFolder = files.filter((path) => posix.dirname(path) === folder);
    const isText = (path: string) => /\.(js|css|json|svg|txt)$/.test(path);
    const contents = (wanted: boolean, encoding: 'utf8' | 'base64') =>
      Object.fromEntries(
        inFolder.filter((path) => isText(path) === wanted).map((path) => [posix.basename(path), readFileSync(join(dist, path), encoding)]),
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
  });
  const integrity = `sha256-${createHash('sha256').update(text).digest('base64')}`;
  const shown = typeof displayName === 'string' ? displayName : displayName?.en;
  const plugin: PluginObject = {
    apiVersion: 'console.platform.io/v1',
    kind: 'ConsolePlugin',
    metadata: { name },
    spec: { displayName: shown ?? name, integrity },
  };
  return [...maps, plugin];
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { namespace: { type: 'string', default: 'atrium-system' } } });
  const dist = join(dirname(import.meta.filename), 'dist');
  console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pluginObjects(dist, values.namespace) }, null, 2));
}
