/** The namespace that was chosen last: the pages of the cluster begin there. What a page shows stands in its own address. */
import { signal } from '@preact/signals';
import { api, bodyOf, storageKey } from '../api/client';
import type { Kind } from '../api/kinds';
import { useLoad } from '../api/load';

const key = storageKey('namespace');

/** `''` for all. */
export const namespace = signal(localStorage.getItem(key) ?? '');

export function chooseNamespace(next: string): void {
  namespace.value = next;
  if (next) localStorage.setItem(key, next);
  else localStorage.removeItem(key);
}

const limit = 1000;

/** Where the caller may list a kind, or watch it. Nothing is asked without a kind. */
export const useNamespaces = (kind: Kind | undefined, verb: 'list' | 'watch' = 'list') => {
  const { group = '', resource = '' } = kind ?? {};
  return useLoad(kind && `namespaces/${verb}/${resource}.${group}`, (stop) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb, group, resource, limit } }, signal: stop })),
  );
};
