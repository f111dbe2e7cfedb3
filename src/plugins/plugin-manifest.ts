import { z } from 'zod';

export const manifestName = 'plugin-manifest.json';

/** As much of a manifest as is looked at. */
const manifest = z.looseObject({ version: z.string().max(128).optional().catch(undefined) });

/** What a manifest tells of its plugin; undefined if it is none. */
export function readManifest(text: string): { version: string | undefined } | undefined {
  try {
    const { success, data } = manifest.safeParse(JSON.parse(text));
    return success ? { version: data.version } : undefined;
  } catch {
    return undefined;
  }
}
