/** Selection of objects in a collection: by namespace, by labels, by fields. */
import { parseFieldSelector, parseLabelSelector } from '@atrium/objects/selectors.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { type KubernetesObject, valueAt } from './objects.ts';
import type { ResourceType } from './resources.ts';

/** Selected part of a collection. */
export interface Selection {
  type: ResourceType;
  namespace?: string | undefined;
  query: URLSearchParams;
}

export interface Matcher {
  /** False if there is no selector, and all objects match. */
  isSelective: boolean;
  matches(object: KubernetesObject): boolean;
}

/** Returns the label and field selector of a query. @throws StatusError 400 */
export function matcherOf({ type, query }: Selection): Matcher {
  const labelSelector = query.get('labelSelector') ?? '';
  const fieldSelector = query.get('fieldSelector') ?? '';
  const matchesLabels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector).map(({ field, operator, value }) => {
    const path = selectablePath(type, field);
    return (object: KubernetesObject) => (fieldText(object, path) === value) === (operator === '=');
  });
  return {
    isSelective: labelSelector !== '' || fieldSelector !== '',
    matches: (object) => matchesLabels(object.metadata.labels ?? {}) && fields.every((matches) => matches(object)),
  };
}

function selectablePath(type: ResourceType, field: string): string[] {
  if (field === 'metadata.name' || field === 'metadata.namespace') return field.split('.');
  if (type.resource === 'namespaces' && field === 'name') return ['metadata', 'name'];
  if (!type.selectableFields.includes(field)) throw badRequest(unknownFieldText(type, field));
  return field === 'source' ? ['source', 'component'] : field.split('.');
}

const unknownFieldText = (type: ResourceType, field: string) =>
  type.isCustom || type.selectableFields.length > 0
    ? `field label not supported: ${field}`
    : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;

function fieldText(object: KubernetesObject, path: readonly string[]): string {
  const value = valueAt(object, path);
  return value === undefined || value === null ? '' : String(value);
}
