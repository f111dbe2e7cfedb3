/** Paths of kinds and objects, whose names may have any character but a slash and a percent sign. */

export interface Place {
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string;
}

export const segments = (...parts: readonly (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => encodeURIComponent(part as string))
    .join('/');

/** Returns the path of the page of a kind, or of one of its objects. @param kind with a name for the core group, too */
export function pagePath(
  { group, version, resource }: { group: string; version: string; resource: string },
  { namespace, name }: Place,
  tab?: string,
): string {
  const place = segments(group, version, resource, ...(namespace ? ['ns', namespace] : []));
  // The page of a cluster-scoped object of this name would be the list of a namespace.
  const object = name === 'ns' && !namespace ? '%6Es' : segments(name);
  return `/r/${[place, object, segments(name && tab)].filter(Boolean).join('/')}`;
}
