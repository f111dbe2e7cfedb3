/** Runs `atrium` with a controller whose backlogs have no bounded share: the other side of bench/import.ts. */
import { registerHooks } from 'node:module';

const bound = 'export const backlogFrom = 100;';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/controllers/work-queue.ts')) return loaded;
    const source = String(loaded.source);
    if (!source.includes(bound)) throw new Error(`work-queue.ts no longer has ${bound}`);
    return { ...loaded, source: source.replace(bound, 'export const backlogFrom = Number.POSITIVE_INFINITY;') };
  },
});
await import('../src/main.ts');
