/** Loaded by mocha before any test, in each of its processes. */
import { execFileSync } from 'node:child_process';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { config } from 'chai';

const script = fileURLToPath(new URL('../../scripts/web.ts', import.meta.url));

// What was compiled once is kept, for this process and for the programs that the tests start: that halves what a start takes.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));
enableCompileCache();

// The proxies find words that chai does not know, which the type check does, too; they take most of the time of an assertion.
config.useProxy = false;

/** Whichever tests run, the console that they serve is that of these sources. */
export function mochaGlobalSetup(): void {
  execFileSync(process.execPath, [script, '--if-changed'], { stdio: 'inherit' });
}
