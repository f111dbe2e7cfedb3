/** Images of pods, by their names and tags. */

interface Container {
  image?: string;
}

export interface Pod {
  metadata: { namespace: string };
  spec: { containers: Container[]; initContainers?: Container[] };
}

export interface Image {
  name: string;
  /** Empty if the image has none. */
  tag: string;
  containers: number;
  namespaces: string[];
  /** Number of tags with which this image runs. */
  tags: number;
}

/** Splits a reference. The colon of a port is followed by a slash. */
function splitImage(reference: string): { name: string; tag: string } {
  const [withTag = '', digest] = reference.split('@');
  const colon = withTag.lastIndexOf(':');
  const isTag = colon > withTag.lastIndexOf('/');
  const tag = isTag ? withTag.slice(colon + 1) : '';
  return { name: isTag ? withTag.slice(0, colon) : withTag, tag: tag || (digest ?? '') };
}

export function imagesOf(pods: readonly Pod[]): Image[] {
  const found = new Map<string, { name: string; tag: string; containers: number; namespaces: Set<string> }>();
  for (const { metadata, spec } of pods)
    for (const { image = '' } of [...spec.containers, ...(spec.initContainers ?? [])]) {
      const { name, tag } = splitImage(image);
      const key = `${name}:${tag}`;
      const one = found.get(key) ?? { name, tag, containers: 0, namespaces: new Set() };
      found.set(key, { ...one, containers: one.containers + 1, namespaces: one.namespaces.add(metadata.namespace) });
    }
  const all = [...found.values()];
  return all
    .map((image) => ({
      ...image,
      namespaces: [...image.namespaces].sort(),
      tags: all.filter(({ name }) => name === image.name).length,
    }))
    .sort((left, right) => (`${left.name}:${left.tag}` < `${right.name}:${right.tag}` ? -1 : 1));
}
