/**
 * Loads the library with the clock of the service (`epoch-time.ts`), and without its warning about runtimes. `scripts/build.ts` replaces
 * the same module.
 */
import { registerHooks } from 'node:module';

const hooks = registerHooks({
  resolve(specifier, context, nextResolve) {
    const isLibraryClock = specifier.endsWith('/epoch_time.js') && context.parentURL?.includes('/oidc-provider/lib/');
    if (!isLibraryClock) return nextResolve(specifier, context);
    return { url: new URL('epoch-time.ts', import.meta.url).href, shortCircuit: true };
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

export type Provider = InstanceType<typeof Provider>;
export type ProviderError = InstanceType<typeof errors.OIDCProviderError>;
