/**
 * CustomResourceDefinitions: which are accepted, their conditions, and the resource that each one makes. One version only: more,
 * conversion webhooks and the scale subresource are refused, as accepting them would store what cannot be read back.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */

import { z } from 'zod';
import { type FieldError, invalidValue, notSupported, required } from '../../../src/api/field-error.ts';
import { dnsLabelProblems, subdomainProblems } from '../../../src/api/label-syntax.ts';
import { notImplemented } from '../../../src/api/status.ts';
import { ageColumn, definedColumn, dottedPath, isSupportedPath, nameColumn } from './columns.ts';
import { isJsonObject, type KubernetesObject, type StoredObject, timestamp } from './objects.ts';
import { type ResourceRegistry, type ResourceType, storedVerbs } from './resources.ts';
import { compileSchema } from './schema.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const version = z.object({
  name: z.string(),
  served: z.boolean(),
  storage: z.boolean(),
  schema: z.object({ openAPIV3Schema: z.record(z.string(), z.unknown()) }).optional(),
  subresources: z.object({ status: z.object({}).optional(), scale: z.unknown().optional() }).optional(),
  additionalPrinterColumns: z
    .array(
      z.object({
        name: z.string(),
        type: z.string(),
        format: z.string().optional(),
        description: z.string().optional(),
        priority: z.number().optional(),
        jsonPath: z.string(),
      }),
    )
    .optional(),
  selectableFields: z.array(z.object({ jsonPath: z.string() })).optional(),
});

const definition = z.object({
  spec: z.object({
    group: z.string(),
    scope: z.string(),
    names: z.object({
      plural: z.string(),
      singular: z.string().optional(),
      kind: z.string(),
      listKind: z.string().optional(),
      shortNames: z.array(z.string()).optional(),
      categories: z.array(z.string()).optional(),
    }),
    versions: z.array(version),
  }),
});
type Spec = z.infer<typeof definition>['spec'];

/** Defaults, conditions and checks of a definition on its way into the store. */
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
      object.status = old?.status ?? { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: storedVersions(spec) };
      if (definition.safeParse(object).success) object.status = establishedStatus(spec, object.status, now());
    },
    validate(object, old) {
      const parsed = definition.safeParse(object);
      if (!parsed.success) return shapeErrors(parsed.error);
      const { spec } = parsed.data;
      refuseUnsupported(spec, object);
      const errors = [...nameErrors(spec, object), ...versionErrors(spec), ...immutableErrors(spec, old)];
      return errors.length > 0 ? errors : takenErrors(spec, registry(), object);
    },
  };
}

const storedVersions = (spec: Record<string, unknown>) =>
  (Array.isArray(spec.versions) ? spec.versions : []).filter((one) => one?.storage === true).map((one) => one.name);

function establishedStatus(spec: Record<string, unknown>, status: unknown, now: Date) {
  const old = isJsonObject(status) ? status : {};
  const has = (type: string) => Array.isArray(old.conditions) && old.conditions.some((one) => isJsonObject(one) && one.type === type);
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: 'True',
    lastTransitionTime: timestamp(now),
    reason,
    message,
  });
  const conditions = has('Established')
    ? old.conditions
    : [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ];
  return { ...old, conditions, acceptedNames: spec.names, storedVersions: storedVersions(spec) };
}

const shapeErrors = (error: z.ZodError): FieldError[] =>
  error.issues.map(({ path, message, input }) => {
    const field = path.reduce<string>(
      (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
      '',
    );
    return input === undefined ? required(field) : invalidValue(field, input, message);
  });

function refuseUnsupported(spec: Spec, object: KubernetesObject): void {
  if (spec.versions.length > 1) throw notImplemented('a CustomResourceDefinition of more than one version');
  const conversion = isJsonObject(object.spec) && isJsonObject(object.spec.conversion) ? object.spec.conversion.strategy : 'None';
  if (conversion !== 'None') throw notImplemented('the conversion of custom resources by webhook');
  for (const { subresources, additionalPrinterColumns = [], selectableFields = [] } of spec.versions) {
    if (subresources?.scale) throw notImplemented('the scale subresource');
    const unsupported = [
      ...additionalPrinterColumns.filter(({ jsonPath }) => !isSupportedPath(jsonPath)),
      ...selectableFields.filter(({ jsonPath }) => dottedPath(jsonPath) === undefined),
    ];
    for (const { jsonPath } of unsupported) throw notImplemented(`the JSONPath ${jsonPath} in a CustomResourceDefinition`);
  }
}

function nameErrors({ group, scope, names }: Spec, { metadata }: KubernetesObject): FieldError[] {
  const errors: FieldError[] = [];
  const wanted = `${names.plural}.${group}`;
  if (metadata.name !== wanted) errors.push(invalidValue('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group'));
  errors.push(...subdomainProblems(group).map((problem) => invalidValue('spec.group', group, problem)));
  if (!group.includes('.')) errors.push(invalidValue('spec.group', group, 'should be a domain with at least one dot'));
  if (!['Cluster', 'Namespaced'].includes(scope)) errors.push(notSupported('spec.scope', scope, ['Cluster', 'Namespaced']));
  for (const [field, text] of Object.entries({ plural: names.plural, singular: names.singular ?? '', kind: names.kind.toLowerCase() })) {
    errors.push(...dnsLabelProblems(text).map((problem) => invalidValue(`spec.names.${field}`, text, problem)));
  }
  return errors;
}

/** The schema must compile: what it asks for and is not enforced is a 422 here. */
function versionErrors({ versions }: Spec): FieldError[] {
  const storage = versions.filter((one) => one.storage);
  const errors =
    storage.length === 1
      ? []
      : [
          invalidValue(
            'spec.versions',
            versions.map(({ name }) => name),
            'must have exactly one version marked as storage version',
          ),
        ];
  versions.forEach(({ schema }, index) => {
    if (schema) compileSchema(schema.openAPIV3Schema);
    else errors.push(required(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required'));
  });
  return errors;
}

function immutableErrors(spec: Spec, old?: StoredObject): FieldError[] {
  const before = definition.safeParse(old).data?.spec;
  if (!before) return [];
  const errors: FieldError[] = [];
  if (before.group !== spec.group) errors.push(invalidValue('spec.group', spec.group, 'field is immutable'));
  if (before.scope !== spec.scope) errors.push(invalidValue('spec.scope', spec.scope, 'field is immutable'));
  if (before.names.plural !== spec.names.plural) errors.push(invalidValue('spec.names.plural', spec.names.plural, 'field is immutable'));
  if (before.names.kind !== spec.names.kind) errors.push(invalidValue('spec.names.kind', spec.names.kind, 'field is immutable'));
  return errors;
}

/** Upstream stores such a definition and never establishes it; refusing says the same at once. */
function takenErrors({ group, names }: Spec, registry: ResourceRegistry, { metadata }: KubernetesObject): FieldError[] {
  const others = registry.all().filter((type) => type.group === group && `${type.resource}.${type.group}` !== metadata.name);
  return others.some(({ kind }) => kind === names.kind)
    ? [invalidValue('spec.names.kind', names.kind, `"${names.kind}" is already in use`)]
    : [];
}

/** The resource that a stored definition serves; undefined while it serves none. */
export function customResourceType(object: StoredObject): ResourceType | undefined {
  const { spec } = definition.parse(object);
  const served = spec.versions.find((one) => one.served);
  if (!served?.schema) return undefined;
  const { names } = spec;
  const printed = served.additionalPrinterColumns?.map(definedColumn) ?? [ageColumn];
  const openAPISchema = served.schema.openAPIV3Schema;
  return {
    group: spec.group,
    version: served.name,
    resource: names.plural,
    kind: names.kind,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === 'Namespaced',
    isCustom: true,
    hasStatus: served.subresources?.status !== undefined,
    subresources: [],
    hasGeneration: true,
    allowsUnconditionalUpdate: false,
    allowsCreateOnUpdate: false,
    schema: compileSchema(openAPISchema),
    openAPISchema,
    columns: [nameColumn, ...printed],
    selectableFields: (served.selectableFields ?? []).map(({ jsonPath }) => dottedPath(jsonPath) ?? ''),
    mergedLists: {},
    verbs: storedVerbs,
    nameProblems: subdomainProblems,
  };
}
