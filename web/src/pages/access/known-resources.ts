/** Resources that the cluster serves, by `name.group`, as kubectl writes them. */

import { base } from '../../api/client';
import { type Discovery, discoveryAccept, kindsOf, staleVersionsOf } from '../../api/discovery.ts';
import { inView } from '../../api/view';
import type { Right } from '../../app/rights';

export interface Known {
  names: string[];
  /** False while discovery lacks a group. */
  isWhole: boolean;
}

/** Discovery lists neither all resources nor the objects of impersonation. */
export const isVirtual = (right: Right): boolean => right.resource.includes('*') || right.verb === 'impersonate';

export async function fetchResources(signal: AbortSignal): Promise<Known> {
  const answers = await Promise.all(
    ['api', 'apis'].map(async (path) => {
      const headers = { Accept: discoveryAccept };
      const response = await fetch(inView(new Request(new URL(`api/kubernetes/${path}`, base), { headers, signal })));
      return response.ok ? ((await response.json()) as Discovery).items : undefined;
    }),
  );
  const groups = answers.flatMap((items) => items ?? []);
  const names = groups.flatMap(kindsOf).map(({ group, resource }) => (group ? `${resource}.${group}` : resource));
  const isWhole = answers.every((items) => items !== undefined) && groups.flatMap(staleVersionsOf).length === 0;
  return { names: [...new Set(names)].sort(), isWhole };
}
