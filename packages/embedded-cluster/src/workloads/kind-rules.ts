/** Defaults and checks that the kinds of workloads share, and the way to declare one. */

import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue, required } from '../../../../src/api/field-error.ts';
import { builtin } from '../builtins.ts';
import { fill, objectIn } from '../defaults.ts';
import { containersIn, isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, valueAt } from '../objects.ts';
import type { ResourceType } from '../resources.ts';
import { columnsByKind } from './columns.ts';

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
type Member = readonly [name: string, schema: JsonObject];
const specAndStatus: readonly Member[] = [
  ['spec', open],
  ['status', open],
];
/** A member of any shape, beside the metadata. */
export const any = (name: string): Member => [name, { 'x-kubernetes-preserve-unknown-fields': true }];

const kindSchema = (description: string, members: readonly Member[]): JsonObject => ({
  type: 'object',
  description,
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, ...Object.fromEntries(members) },
});

export const stored = (
  ...[path, kind, description, given, members = specAndStatus]: [
    path: string,
    kind: string,
    description: string,
    given: Partial<ResourceType>,
    members?: readonly Member[],
  ]
): ResourceType => builtin(path, kind, kindSchema(description, members), { hasStatus: true, columns: columnsByKind[kind] ?? [], ...given });

export const specOf = (object: KubernetesObject): JsonObject => objectIn(object, 'spec');

export function fillPodSpec(spec: JsonObject): void {
  fill(spec, { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler' });
  fill(spec, { securityContext: {} });
  for (const container of [...containersIn(spec), ...objectsAt(spec, 'ephemeralContainers')]) fillContainer(container);
  for (const volume of objectsAt(spec, 'volumes')) fillVolume(volume);
}

function fillContainer(container: JsonObject): void {
  const image = typeof container.image === 'string' ? container.image : '';
  const [, tag = 'latest'] = image.slice(image.lastIndexOf('/')).split(/[:@]/);
  fill(container, { resources: {}, imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent' });
  fill(container, { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' });
  for (const port of objectsAt(container, 'ports')) fill(port, { protocol: 'TCP' });
  for (const { valueFrom } of objectsAt(container, 'env'))
    if (isJsonObject(valueFrom) && isJsonObject(valueFrom.fieldRef)) fill(valueFrom.fieldRef, { apiVersion: 'v1' });
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'].map((name) => container[name]).filter(isJsonObject)) {
    fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    if (isJsonObject(probe.httpGet)) fill(probe.httpGet, { path: '/', scheme: 'HTTP' });
  }
}

function fillVolume(volume: JsonObject): void {
  for (const source of ['configMap', 'secret', 'downwardAPI', 'projected'].map((name) => volume[name]).filter(isJsonObject))
    fill(source, { defaultMode: 0o644 });
  if (isJsonObject(volume.hostPath)) fill(volume.hostPath, { type: '' });
}

export function containerErrors(spec: unknown, path: string): FieldError[] {
  const containers = isJsonObject(spec) ? objectsAt(spec, 'containers') : [];
  if (containers.length === 0) return [required(`${path}.containers`)];
  return containers.flatMap((container, index) =>
    ['name', 'image'].filter((key) => !container[key]).map((key) => required(`${path}.containers[${index}].${key}`)),
  );
}

/** Checks the template of a workload, and the selector that has to find its pods. */
export function selectorErrors(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const selector = valueAt(object, ['spec', 'selector']);
  const wanted = valueAt(selector, ['matchLabels']);
  const labels = valueAt(object, ['spec', 'template', 'metadata', 'labels']);
  const given = isJsonObject(labels) ? labels : {};
  if (!isJsonObject(wanted) || Object.keys(wanted).length === 0) errors.push(required('spec.selector'));
  else if (Object.entries(wanted).some(([key, value]) => given[key] !== value))
    errors.push(invalidValue('spec.template.metadata.labels', given, '`selector` does not match template `labels`'));
  if (old !== undefined && !isDeepStrictEqual(selector, valueAt(old, ['spec', 'selector'])))
    errors.push(invalidValue('spec.selector', selector, 'field is immutable'));
  return [...errors, ...containerErrors(valueAt(object, ['spec', 'template', 'spec']), 'spec.template.spec')];
}
