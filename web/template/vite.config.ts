import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

const here = import.meta.dirname;
const dist = join(here, 'dist');

/** The console runs no file whose digest the manifest does not name. `npm run dev` sends each build to the cluster of kubectl. */
const manifest: Plugin = {
  name: 'manifest',
  closeBundle() {
    const files = globSync('**/*.{js,css,json,svg,png}', { cwd: dist }).filter((name) => name !== 'plugin-manifest.json');
    const digest = (name: string) =>
      createHash('sha256')
        .update(readFileSync(join(dist, name)))
        .digest('base64');
    const integrity = Object.fromEntries(files.sort().map((name) => [name.replaceAll('\\', '/'), `sha256-${digest(name)}`]));
    const given: unknown = JSON.parse(readFileSync(join(here, 'plugin-manifest.json'), 'utf8'));
    writeFileSync(join(dist, 'plugin-manifest.json'), `${JSON.stringify({ ...(given as object), integrity }, null, 2)}\n`);
    if (!this.meta.watchMode) return;
    const objects = execFileSync(process.execPath, [join(here, 'configmap.ts')]);
    execFileSync('kubectl', ['apply', '-f', '-'], { input: objects, stdio: ['pipe', 'inherit', 'inherit'] });
  },
};

export default defineConfig({
  root: here,
  build: {
    target: 'es2022',
    // One module: what a module imports is not held against a digest.
    lib: { entry: join(here, 'src/entry.ts'), formats: ['es'], fileName: () => 'entry.js' },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  plugins: [manifest],
});
