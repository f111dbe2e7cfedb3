/** Rights that the list of a kind requires: for the page, and for the requests that are sent ahead of it. */
import type { Kind } from '../api/kinds';
import type { Right } from './rights';

type KindName = Pick<Kind, 'group' | 'resource'>;

/** The namespace is that of the address, also for a cluster-scoped kind. */
export function listRights({ group, resource }: KindName, namespace: string | undefined) {
  const right = (verb: string): Right => ({ verb, group, resource, ...(namespace !== undefined && { namespace }) });
  return {
    ...{ list: right('list'), watch: right('watch'), create: right('create'), remove: right('delete') },
    ...{ patch: right('patch'), scale: { ...right('patch'), subresource: 'scale' } },
  };
}

/** Undefined for a kind that no metrics server measures. */
export function usageRight({ group, resource }: KindName, namespace?: string, name?: string): Right | undefined {
  if (group !== '' || (resource !== 'pods' && resource !== 'nodes')) return undefined;
  return { verb: 'list', group: 'metrics.k8s.io', resource, ...(namespace && { namespace }), ...(name && { name }) };
}
