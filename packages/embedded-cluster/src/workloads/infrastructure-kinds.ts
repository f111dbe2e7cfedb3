/** Storage, networking, autoscaling and limits: what data/kinds.yaml names, with the rules that need code. */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { openSchema } from '../builtin-schemas.ts';
import { builtin, type KindRules } from '../builtins.ts';
import { type Defaults, fill, objectIn } from '../defaults.ts';
import { type JsonObject, type KubernetesObject, objectsAt, timestamp } from '../objects.ts';
import type { ResourceType } from '../resources.ts';
import { columnsByKind } from './columns.ts';
import * as validate from './validation.ts';

interface Kind extends Partial<ResourceType> {
  path: string;
  members?: string[];
  defaults?: Defaults;
  status?: JsonObject;
}

const kinds = parse(readFileSync(new URL('../../data/kinds.yaml', import.meta.url), 'utf8')) as Readonly<Record<string, Kind>>;

/** Returns the `prepare` that fills in defaults of the spec that depend on others. */
const filling = (spec: Defaults) => ({ prepare: (object: KubernetesObject) => fill(object, { spec }) });

const rules: Readonly<Record<string, KindRules>> = {
  PersistentVolumeClaim: { validate: validate.claim },
  PersistentVolume: { firstStatus: (_, { now }) => ({ phase: 'Pending', lastPhaseTransitionTime: timestamp(now) }) },
  StorageClass: { validate: validate.members('provisioner') },
  Ingress: { validate: validate.ingress },
  IngressClass: { validate: validate.members('spec.controller') },
  NetworkPolicy: filling({ policyTypes: (spec: JsonObject) => ['Ingress', ...(objectsAt(spec, 'egress').length > 0 ? ['Egress'] : [])] }),
  HorizontalPodAutoscaler: { validate: validate.scaler },
  PodDisruptionBudget: { validate: validate.budget },
  LimitRange: { prepare: prepareLimits },
};

function typeOf(kind: string, { path, members = ['spec', 'status'], status, ...data }: Kind): ResourceType {
  const firstStatus = status === undefined ? {} : { firstStatus: () => structuredClone(status) };
  const own = { hasStatus: members.includes('status'), columns: columnsByKind[kind] ?? [], ...firstStatus };
  return builtin(path, kind, openSchema(members), { ...own, ...data, ...rules[kind] });
}

export const infrastructureTypes = (): ResourceType[] => Object.entries(kinds).map(([kind, data]) => typeOf(kind, data));

function prepareLimits(object: KubernetesObject): void {
  for (const limit of objectsAt(object, 'spec.limits').filter(({ type }) => type === 'Container')) {
    fill(limit, { default: limit.max ?? {} });
    fill(limit, { defaultRequest: { ...(limit.min as JsonObject | undefined), ...objectIn(limit, 'default') } });
  }
}
