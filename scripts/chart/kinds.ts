/** Kinds of the definitions in the chart, as data for the service. */
import { readdir, readFile } from 'node:fs/promises';
import type { ShippedKind } from '@atrium/kubernetes/manifests.ts';
import { parse } from 'yaml';
import { z } from 'zod';
import { chartDirectory } from './values-files.ts';

const definition = z.object({ spec: z.object({ group: z.string(), names: z.object({ plural: z.string() }) }) });
const definitions = new URL('files/crds/', chartDirectory);

export const kindsPath = new URL('../../packages/kubernetes/src/shipped-kinds.json', import.meta.url);

/** Returns the text of shipped-kinds.json, one kind a line. */
export async function kindsFile(): Promise<string> {
  const files = (await readdir(definitions)).filter((file) => file !== 'kustomization.yaml').toSorted();
  const kinds = await Promise.all(
    files.map(async (file): Promise<ShippedKind> => {
      const { group, names } = definition.parse(parse(await readFile(new URL(file, definitions), 'utf8'))).spec;
      return { group, resource: names.plural };
    }),
  );
  return `[\n${kinds.map(({ group, resource }) => `  { "group": "${group}", "resource": "${resource}" }`).join(',\n')}\n]\n`;
}
