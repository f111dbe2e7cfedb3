import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { installDefinition } from './widget.ts';

const directory = join(import.meta.dirname, '../../../deploy/manifests/crds');

const definition = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    group: z.string(),
    scope: z.enum(['Cluster', 'Namespaced']),
    names: z.looseObject({ kind: z.string(), plural: z.string() }),
    versions: z.array(
      z.looseObject({
        name: z.string(),
        subresources: z.unknown().optional(),
        additionalPrinterColumns: z.array(z.looseObject({ name: z.string() })),
        selectableFields: z.array(z.object({ jsonPath: z.string() })).default([]),
      }),
    ),
  }),
});
export type Definition = z.infer<typeof definition>;

/** Returns the custom resource definitions of the product, from their files. */
async function shippedDefinitions(): Promise<Definition[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.io.yaml'));
  return Promise.all(files.sort().map(async (name) => definition.parse(parse(await readFile(join(directory, name), 'utf8')))));
}

/** Installs the definitions of the product, and waits until they are served. */
export async function installShipped(admin: ApiClient): Promise<Definition[]> {
  const definitions = await shippedDefinitions();
  await Promise.all(definitions.map((each) => installDefinition(admin, each)));
  return definitions;
}
