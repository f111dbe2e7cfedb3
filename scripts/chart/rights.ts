/** Rights of the service's account in deploy/manifests, as data for messages and `atrium config rights`. */

import type { ManifestRight } from '@atrium/kubernetes/manifests.ts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const role = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()).default(['']),
      resources: z.array(z.string()).optional(),
      nonResourceURLs: z.array(z.string()).default([]),
      resourceNames: z.array(z.string()).default([]),
      verbs: z.array(z.string()),
    }),
  ),
});

export const rightsPath = new URL('../../packages/kubernetes/src/manifest-rights.json', import.meta.url);

/** Rendered files, by the names under which they are applied. */
const rendered: Readonly<Record<string, string>> = {
  'rbac.yaml': 'rbac.yaml',
  'constrained-impersonation.yaml': 'constrained-impersonation/impersonation.yaml',
  'access-tokens.yaml': 'team/access-tokens.yaml',
  'user-bindings.yaml': 'team/user-bindings.yaml',
  'access-requests.yaml': 'team/access-requests.yaml',
  'workload-lists.yaml': 'team/workload-lists.yaml',
  'usage.yaml': 'usage.yaml',
  'certificates.yaml': 'certificates.yaml',
  'agents.yaml': 'agents.yaml',
  'audit-store.yaml': 'audit-store/audit-store.yaml',
};

/** Returns the rights in the manifests. @param files texts by their paths below deploy/manifests */
const rightsIn = (files: ReadonlyMap<string, string>): ManifestRight[] =>
  Object.entries(rendered).flatMap(([file, path]) =>
    parseAllDocuments(files.get(path) ?? '').flatMap((document) => {
      const { data } = role.safeParse(document.toJS());
      return (data?.rules ?? []).map(({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }) => ({
        file,
        where: data?.kind === 'Role' ? 'namespace' : 'cluster',
        verbs,
        group: apiGroups.join(', '),
        resources: resources ?? nonResourceURLs,
        names: resourceNames,
      }));
    }),
  );

/** Returns the text of manifest-rights.json, one right a line. */
export const rightsFile = (files: ReadonlyMap<string, string>): string =>
  `[\n${rightsIn(files)
    .map((right) => `  ${JSON.stringify(right)}`)
    .join(',\n')}\n]\n`;
