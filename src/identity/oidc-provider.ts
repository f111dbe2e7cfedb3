/** The library, with the time of the service, and without its line about runtimes. */
import { registerHooks } from 'node:module';
import { requestScope } from './request-scope.ts';

/** The one place where the library reads a clock for what it writes and compares. */
const libraryClock = /\/oidc-provider\/lib\/helpers\/epoch_time\.js$/;
const clockName = Symbol.for('atrium.identity.clock');
const source = `const now = globalThis[Symbol.for('${clockName.description}')];
export default (milliseconds = now()) => Math.floor(milliseconds / 1000);`;
Object.defineProperty(globalThis, clockName, { value: () => requestScope().now().getTime() });

let isReplaced = false;
const hooks = registerHooks({
  load(url, context, nextLoad) {
    if (!libraryClock.test(url)) return nextLoad(url, context);
    isReplaced = true;
    return { format: 'module', source, shortCircuit: true };
  },
});
const { warn } = console;
console.warn = (...data: unknown[]) => {
  // The runtime is pinned and tested.
  if (!String(data[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...data);
};
export const { errors, interactionPolicy, Provider } = await import('oidc-provider');
console.warn = warn;
hooks.deregister();
if (!isReplaced) throw new Error('oidc-provider reads the time in another way');

export type Provider = InstanceType<typeof Provider>;
export type ProviderError = InstanceType<typeof errors.OIDCProviderError>;
