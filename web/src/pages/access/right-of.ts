import { typedText } from '@atrium/objects/typed-text.ts';

interface Text {
  readonly value: string;
}

/** Reads a resource as kubectl writes it, such as `deployments.apps/scale`, or as `deployments/scale.apps`. */
export function rightOf({ verb, resource, namespace, name }: Readonly<Record<'verb' | 'resource' | 'namespace' | 'name', Text>>) {
  const [, before = '', after = ''] = /^([^/]*)\/?(.*)$/.exec(typedText(resource.value)) ?? [];
  const [[kind, groupOfKind], [subresource, groupOfSubresource]] = [splitGroup(before), splitGroup(after)];
  return {
    verb: verb.value,
    group: groupOfKind || groupOfSubresource,
    resource: kind,
    ...(subresource && { subresource }),
    ...(namespace.value && { namespace: namespace.value }),
    ...(name.value && { name: name.value }),
  };
}

function splitGroup(text: string): [plural: string, group: string] {
  const [plural = '', ...group] = text.split('.');
  return [plural, group.join('.')];
}
