import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { digestOf, filesIn, manifestName } from './configmap.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const dist = join(here, 'dist');

/** The console runs no file whose digest the manifest does not name. `npm run dev` sends each build to the cluster of kubectl. */
const manifest: Plugin = {
  name: 'manifest',
  closeBundle() {
    const files = filesIn(dist).filter((name) => name !== manifestName);
    const integrity = Object.fromEntries(files.map((name) => [name, digestOf(readFileSync(join(dist, name)))]));
    const given: unknown = JSON.parse(readFileSync(join(here, manifestName), 'utf8'));
    writeFileSync(join(dist, manifestName), `${JSON.stringify({ ...(given as object), integrity }, null, 2)}\n`);
    if (!this.meta.watchMode) return;
    const objects = execFileSync(process.execPath, [join(here, 'configmap.js')]);
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
