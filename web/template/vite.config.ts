import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';
import { digestOf, filesIn, manifestName } from './configmap.js';

/** The console runs no file whose digest the manifest does not name. `npm run dev` sends each build to the cluster of kubectl. */
const manifestOf = (folder: string, dist: string): Plugin => ({
  name: 'manifest',
  closeBundle() {
    const files = filesIn(dist).filter((name) => name !== manifestName);
    const integrity = Object.fromEntries(files.map((name) => [name, digestOf(readFileSync(join(dist, name)))]));
    const given: unknown = JSON.parse(readFileSync(join(folder, manifestName), 'utf8'));
    writeFileSync(join(dist, manifestName), `${JSON.stringify({ ...(given as object), integrity }, null, 2)}\n`);
    if (!this.meta.watchMode) return;
    const objects = execFileSync(process.execPath, [join(folder, 'configmap.js')]);
    execFileSync('kubectl', ['apply', '-f', '-'], { input: objects, stdio: ['pipe', 'inherit', 'inherit'] });
  },
});

/** Returns the configuration that builds the plugin of a folder. */
export const pluginConfig = (folder: string, dist = join(folder, 'dist')): UserConfig => ({
  root: folder,
  build: {
    outDir: dist,
    emptyOutDir: true,
    target: 'es2022',
    // One module: what a module imports is not held against a digest.
    lib: { entry: join(folder, 'src/entry.ts'), formats: ['es'], fileName: () => 'entry.js' },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  plugins: [manifestOf(folder, dist)],
});

export default defineConfig(pluginConfig(fileURLToPath(new URL('.', import.meta.url))));
