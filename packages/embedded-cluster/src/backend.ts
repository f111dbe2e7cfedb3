/** Context of writes, and look-ups of objects. */
import { notFound } from '@atrium/objects/status.ts';
import type { FieldValidation } from './decode.ts';
import type { Fields } from './field-set.ts';
import type { FieldManager } from './managed-fields.ts';
import { objectKey, type StoredObject } from './objects.ts';
import { type Backend, collectionOf, type Target } from './resources.ts';
import type { UserInfo } from './tokens.ts';

/** Context of a write. */
export interface WriteContext {
  backend: Backend;
  user: UserInfo;
  isDryRun: boolean;
  fieldValidation: FieldValidation;
  /** Undefined for the cluster itself. */
  manager?: FieldManager | undefined;
  /** Fields of a server-side apply. */
  applied?: Fields;
  warn(text: string): void;
}

export const findObject = (backend: Backend, { type, namespace, name }: Target): StoredObject | undefined =>
  type.computed
    ? type.computed(backend, namespace).find(({ metadata }) => metadata.name === name)
    : backend.store.get(collectionOf(type), objectKey(namespace, name));

/** @throws StatusError 404 */
export function getObject(backend: Backend, target: Target): StoredObject {
  const object = findObject(backend, target);
  if (!object) throw notFound(target.type, target.name);
  return object;
}
