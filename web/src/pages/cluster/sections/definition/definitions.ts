/** CustomResourceDefinitions. Kubernetes API: apiextensions.k8s.io/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

interface Version {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  subresources?: Record<string, unknown>;
  additionalPrinterColumns?: readonly { name: string; type: string; format?: string; jsonPath: string; priority?: number }[];
}

interface Spec {
  group: string;
  scope: string;
  names: { plural: string; kind: string; shortNames?: readonly string[]; categories?: readonly string[] };
  versions: readonly Version[];
  conversion?: { strategy?: string };
}

export interface Definition extends Omit<Spec, 'conversion'> {
  strategy: string | undefined;
  /** The version that kubectl would choose. */
  version: string;
  storedVersions: readonly string[];
  isServed: boolean;
}

export function definitionOf({ spec, status }: ClusterObject): Definition {
  const { conversion, versions, ...rest } = spec as unknown as Spec;
  const { conditions = [], storedVersions = [] } = (status ?? {}) as {
    conditions?: readonly { type: string; status: string }[];
    storedVersions?: readonly string[];
  };
  const ordered = [...versions].sort((a, b) => byPriority(a.name, b.name));
  const served = ordered.filter((one) => one.served);
  return {
    ...{ ...rest, versions: ordered, storedVersions, strategy: conversion?.strategy },
    version: served[0]?.name ?? '',
    isServed: served.length > 0 && conditions.some(({ type, status: is }) => type === 'Established' && is === 'True'),
  };
}

/** Kubernetes orders versions by stability, then by number: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name. */
function byPriority(a: string, b: string): number {
  const [x, y] = [rankOf(a), rankOf(b)];
  const at = x.findIndex((part, index) => part !== y[index]);
  return at === -1 ? a.localeCompare(b) : (y[at] ?? 0) - (x[at] ?? 0);
}

function rankOf(name: string): number[] {
  const found = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/.exec(name);
  if (found === null) return [0, 0, 0];
  const stability = found[2] === 'alpha' ? 1 : found[2] === 'beta' ? 2 : 3;
  return [stability, Number(found[1]), Number(found[3] ?? 0)];
}

/** Returns versions in which objects may still be stored though the definition has lost them. */
export const missingVersions = ({ storedVersions, versions }: Definition): string[] =>
  storedVersions.filter((name) => !versions.some((version) => version.name === name));

/** Returns the number of objects of a list that was asked for one; undefined where the API server does not count. */
export function instanceCount({
  items,
  metadata,
}: {
  items?: readonly unknown[] | null;
  metadata: { continue?: string; remainingItemCount?: number };
}) {
  const rest = metadata.continue ? metadata.remainingItemCount : 0;
  return rest === undefined ? undefined : (items ?? []).length + rest;
}
