/** The rules that hold for the metadata of every kind. */
import { type FieldError, forbidden, invalidValue, required, tooLong } from '@atrium/objects/field-error.ts';
import { labelKeyProblems, labelValueProblems } from '@atrium/objects/labels.ts';
import type { KubernetesObject, ObjectMeta, StoredObject } from './objects.ts';
import type { ResourceType } from './resources.ts';

const maximumAnnotationBytes = 256 * 1024;

/** `old` is the stored object of an update. */
export function metadataErrors(type: ResourceType, object: KubernetesObject, old?: StoredObject): FieldError[] {
  const { metadata } = object;
  return [
    ...nameErrors(type, metadata),
    ...labelErrors(metadata),
    ...annotationErrors(metadata),
    ...ownerErrors(metadata),
    ...finalizerErrors(metadata, old?.metadata),
    ...(type.isCustom ? [] : strayFinalizers(metadata)),
    ...immutableErrors(metadata, old?.metadata),
  ];
}

function nameErrors(type: ResourceType, { name, generateName }: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (generateName) {
    // A dash at the end will be followed by the random part.
    const example = generateName.endsWith('-') ? `${generateName.slice(0, -1)}a` : generateName;
    errors.push(...type.nameProblems(example).map((problem) => invalidValue('metadata.generateName', generateName, problem)));
  }
  if (!name) errors.push(required('metadata.name', 'name or generateName is required'));
  else errors.push(...type.nameProblems(name).map((problem) => invalidValue('metadata.name', name, problem)));
  return errors;
}

const labelErrors = ({ labels = {} }: ObjectMeta) =>
  Object.entries(labels).flatMap(([key, value]) => [
    ...labelKeyProblems(key).map((problem) => invalidValue('metadata.labels', key, problem)),
    ...labelValueProblems(value).map((problem) => invalidValue('metadata.labels', value, problem)),
  ]);

function annotationErrors({ annotations = {} }: ObjectMeta): FieldError[] {
  const errors = Object.keys(annotations).flatMap((key) =>
    labelKeyProblems(key.toLowerCase()).map((problem) => invalidValue('metadata.annotations', key, problem)),
  );
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  return bytes > maximumAnnotationBytes ? [...errors, tooLong('metadata.annotations', maximumAnnotationBytes)] : errors;
}

function ownerErrors({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  return ownerReferences.flatMap((owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((part) => owner[part] === '')
      .map((part) =>
        invalidValue(`metadata.ownerReferences.${part}`, '', part === 'apiVersion' ? 'version must not be empty' : 'must not be empty'),
      ),
  );
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

const strayFinalizers = ({ finalizers = [] }: ObjectMeta): FieldError[] =>
  finalizers.flatMap((finalizer, index) =>
    finalizer.includes('/') || standardFinalizers.includes(finalizer)
      ? []
      : [invalidValue(`metadata.finalizers[${index}]`, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')],
  );

function finalizerErrors({ finalizers = [] }: ObjectMeta, old?: ObjectMeta): FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    labelKeyProblems(finalizer).map((problem) => invalidValue('metadata.finalizers', finalizer, problem)),
  );
  const added = old?.deletionTimestamp ? finalizers.filter((finalizer) => !old.finalizers?.includes(finalizer)) : [];
  if (added.length > 0) {
    const names = added.map((name) => JSON.stringify(name)).join(', ');
    errors.push(
      forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`,
      ),
    );
  }
  return errors;
}

function immutableErrors(metadata: ObjectMeta, old?: ObjectMeta): FieldError[] {
  if (!old) return [];
  return (['name', 'namespace', 'uid', 'creationTimestamp'] as const)
    .filter((field) => metadata[field] !== old[field])
    .map((field) => invalidValue(`metadata.${field}`, metadata[field] ?? '', 'field is immutable'));
}
