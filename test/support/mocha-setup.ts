/** Loaded by mocha before any test, in each of its processes. */
import { execFileSync } from 'node:child_process';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { config } from 'chai';

const script = fileURLToPath(new URL('../../scripts/web.ts', import.meta.url));

// The cache of compiled code serves this process and the programs that the tests start: it halves the time of a start.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));
enableCompileCache();

// The proxies of chai detect misspelt assertions, which the type check does too; they take most of the time of an assertion.
config.useProxy = false;

/** Rebuilds the console if its sources have changed, so that all tests serve the current one. */
export function mochaGlobalSetup(): void {
  execFileSync(process.execPath, [script, '--if-changed'], { stdio: 'inherit' });
}
