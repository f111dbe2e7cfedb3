/** Namespace that was chosen last, with which the pages of the cluster open. The namespace of an open page is in its address. */
import { signal } from '@preact/signals';
import { api, bodyOf, storageKey } from '../api/client';
import type { Kind } from '../api/kinds';
import { useLoad } from '../api/load';

const key = storageKey('namespace');

/** `''` for all namespaces. */
export const namespace = signal(localStorage.getItem(key) ?? '');

export function chooseNamespace(next: string): void {
  namespace.value = next;
  if (next) localStorage.setItem(key, next);
  else localStorage.removeItem(key);
}

/** Loads the namespaces in which the caller may read pods. */
export const useMyNamespaces = () =>
  useLoad('namespaces/get/pods', (signal) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb: 'get', resource: 'pods' } }, signal })),
  );

/** Loads the namespaces in which the caller may list or watch a kind. Without a kind, no request is sent. */
export const useNamespaces = (kind: Kind | undefined, verb: 'list' | 'watch' = 'list') => {
  const { group = '', resource = '' } = kind ?? {};
  return useLoad(kind && `namespaces/${verb}/${resource}.${group}`, (stop) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb, group, resource } }, signal: stop })),
  );
};
