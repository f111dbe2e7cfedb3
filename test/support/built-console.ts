/** Loaded by mocha: whichever tests run, the console that they serve is that of these sources. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/web.ts', import.meta.url));

export function mochaGlobalSetup(): void {
  execFileSync(process.execPath, [script, '--if-changed'], { stdio: 'inherit' });
}
