import { z } from 'zod';
import { asService, type ClusterAdmin, eventually, type Manifest, pathOf } from '../../support/cluster-admin.ts';

const definition = z.object({
  group: z.string(),
  names: z.object({ plural: z.string() }),
  versions: z.array(z.object({ name: z.string(), storage: z.boolean() })),
});
const objectList = z.object({
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string(), resourceVersion: z.string() }) })),
});

/** Returns the stored objects of the kinds that a list of manifests defines, by kind, name and resource version. */
export async function customObjects(admin: ClusterAdmin, manifests: readonly Manifest[]): Promise<Map<string, Manifest>> {
  const found = new Map<string, Manifest>();
  for (const { kind, spec } of manifests) {
    if (kind !== 'CustomResourceDefinition') continue;
    const { group, names, versions } = definition.parse(spec);
    const version = versions.find(({ storage }) => storage)?.name;
    // A changed definition is served again after a moment.
    const { body } = await eventually(
      () => admin.call('GET', `/apis/${group}/${version}/${names.plural}`),
      ({ status }) => status === 200,
    );
    for (const item of objectList.parse(body).items as unknown as Manifest[])
      found.set(`${pathOf(item, item.metadata.name)} ${item.metadata.resourceVersion}`, item);
  }
  return found;
}

/** Writes an object as it is stored, as a test. @returns the refusal of the API server, or undefined */
export async function refusalOfRewrite(admin: ClusterAdmin, object: Manifest): Promise<string | undefined> {
  const path = pathOf(object, object.metadata.name);
  const { status, body } = await eventually(
    async () => {
      const { body: current } = await admin.call('GET', path);
      return admin.call('PUT', `${path}?dryRun=All`, current, asService);
    },
    // The service may write or delete the object in between.
    (answer) => answer.status !== 409,
  );
  return status === 200 || status === 404 ? undefined : `${path}: ${status} ${JSON.stringify(body)}`;
}
