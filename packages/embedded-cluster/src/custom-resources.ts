/**
 * CustomResourceDefinitions: the accepted ones, their conditions, and the resource that each one creates. Several versions, conversion
 * webhooks and the scale subresource are refused, because objects would be stored that cannot be read back.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { type FieldError, invalidValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { dnsLabelProblems, subdomainProblems } from '@atrium/objects/labels.ts';
import { z } from 'zod';
import { definedColumns, dottedPath, nameColumn } from './columns.ts';
import { isJsonObject, type KubernetesObject, type StoredObject, timestamp, valueAt } from './objects.ts';
import { type ResourceRegistry, type ResourceType, storedVerbs } from './resources.ts';
import { compileSchema } from './schema.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const label = z.string().refine((text) => dnsLabelProblems(text.toLowerCase()).length === 0, 'must be a DNS label');
const column = z.object({
  name: z.string(),
  type: z.string(),
  format: z.string().optional(),
  description: z.string().optional(),
  priority: z.number().optional(),
  jsonPath: z.string().startsWith('.', 'must be a simple json path starting with .'),
});
const version = z.object({
  name: label,
  served: z.literal(true),
  storage: z.literal(true),
  schema: z.object({ openAPIV3Schema: z.record(z.string(), z.unknown()) }),
  subresources: z.strictObject({ status: z.object({}).optional() }).optional(),
  additionalPrinterColumns: z.array(column).optional(),
  selectableFields: z
    .array(z.object({ jsonPath: z.string().refine((path) => dottedPath(path) !== undefined, 'must be made of keys alone') }))
    .optional(),
});

const definition = z.object({
  spec: z.object({
    group: z
      .string()
      .refine((text) => text.includes('.') && subdomainProblems(text).length === 0, 'should be a domain with at least one dot'),
    scope: z.enum(['Cluster', 'Namespaced']),
    names: z.object({
      plural: label,
      singular: label.optional(),
      kind: label,
      listKind: z.string().optional(),
      shortNames: z.array(z.string()).optional(),
      categories: z.array(z.string()).optional(),
    }),
    versions: z.tuple([version]),
    conversion: z.object({ strategy: z.literal('None') }).optional(),
  }),
});
type Spec = z.infer<typeof definition>['spec'];

/** Returns the defaults, conditions and checks of a definition on its way into the store. */
export function definitionRules(registry: () => ResourceRegistry, now: () => Date): Required<Pick<ResourceType, 'prepare' | 'validate'>> {
  return {
    prepare(object, old) {
      const { spec } = object;
      if (!isJsonObject(spec) || !isJsonObject(spec.names)) return;
      const { names } = spec;
      if (typeof names.kind === 'string') {
        names.singular ||= names.kind.toLowerCase();
        names.listKind ||= `${names.kind}List`;
      }
      spec.conversion ??= { strategy: 'None' };
      const accepted = definition.safeParse(object).data;
      if (accepted)
        object.status = {
          ...establishedStatus(old?.status, now()),
          acceptedNames: names,
          storedVersions: [accepted.spec.versions[0].name],
        };
    },
    /** The schema must compile: keywords that are not enforced are a 422 here. */
    validate(object, old) {
      const parsed = definition.safeParse(object);
      if (!parsed.success) return shapeErrors(parsed.error, object);
      const { spec } = parsed.data;
      compileSchema(spec.versions[0].schema.openAPIV3Schema);
      const wanted = `${spec.names.plural}.${spec.group}`;
      const { name } = object.metadata;
      const errors = name === wanted ? [] : [invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
      errors.push(...immutableErrors(spec, old));
      return errors.length > 0 ? errors : takenErrors(spec, registry(), object);
    },
  };
}

function establishedStatus(old: unknown, now: Date) {
  if (isJsonObject(old) && Array.isArray(old.conditions)) return old;
  const condition = (type: string, reason: string, message: string) => ({
    ...{ type, status: 'True', lastTransitionTime: timestamp(now), reason, message },
  });
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
  };
}

const shapeErrors = (error: z.ZodError, object: KubernetesObject): FieldError[] =>
  error.issues.map((issue) => {
    const value = valueAt(object, issue.path.map(String));
    const field = issue.path.reduce<string>(
      (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
      '',
    );
    if (value === undefined) return required(field);
    return issue.code === 'invalid_value' ? notSupported(field, value, issue.values) : invalidValue(field, value, issue.message);
  });

function immutableErrors(spec: Spec, old?: StoredObject): FieldError[] {
  const before = definition.safeParse(old).data?.spec;
  const [was, is] = [before ?? spec, spec].map(({ group, scope, names }) => [group, scope, names.plural, names.kind]);
  return ['group', 'scope', 'names.plural', 'names.kind'].flatMap((field, index) =>
    was?.[index] === is?.[index] ? [] : [invalidValue(`spec.${field}`, is?.[index], 'field is immutable')],
  );
}

/** Refuses a definition whose kind is taken. Upstream stores it and never establishes it; the refusal reports the same at once. */
function takenErrors({ group, names }: Spec, registry: ResourceRegistry, { metadata }: KubernetesObject): FieldError[] {
  const others = registry.all().filter((type) => type.group === group && `${type.resource}.${type.group}` !== metadata.name);
  return others.some(({ kind }) => kind === names.kind)
    ? [invalidValue('spec.names.kind', names.kind, `"${names.kind}" is already in use`)]
    : [];
}

/** Returns the resource that a stored definition serves. */
export function customResourceType(object: StoredObject): ResourceType {
  const { spec } = definition.parse(object);
  const {
    names,
    versions: [served],
  } = spec;
  const printed = definedColumns(served.additionalPrinterColumns);
  const openAPISchema = served.schema.openAPIV3Schema;
  return {
    ...{ group: spec.group, version: served.name, resource: names.plural, kind: names.kind },
    ...{ singular: names.singular ?? names.kind.toLowerCase(), shortNames: names.shortNames ?? [], categories: names.categories ?? [] },
    ...{ namespaced: spec.scope === 'Namespaced', isCustom: true, hasStatus: served.subresources?.status !== undefined, subresources: [] },
    ...{ hasGeneration: true, allowsUnconditionalUpdate: false, allowsCreateOnUpdate: false },
    schema: compileSchema(openAPISchema),
    openAPISchema,
    columns: [nameColumn, ...printed],
    selectableFields: (served.selectableFields ?? []).map(({ jsonPath }) => dottedPath(jsonPath) ?? ''),
    verbs: storedVerbs,
    nameProblems: subdomainProblems,
  };
}
