import { z } from 'zod';
import type { Manifest } from '../../support/cluster-admin.ts';
import { type Need, qualified } from './call-recorder.ts';

const roleSchema = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  metadata: z.object({ name: z.string(), namespace: z.string().default('') }),
  rules: z.array(
    z.strictObject({
      apiGroups: z.array(z.string()).default([]),
      resources: z.array(z.string()).default([]),
      nonResourceURLs: z.array(z.string()).default([]),
      resourceNames: z.array(z.string()).default(['']),
      verbs: z.array(z.string()),
    }),
  ),
});

const bindingSchema = z.object({
  kind: z.enum(['RoleBinding', 'ClusterRoleBinding']),
  metadata: z.object({ name: z.string(), namespace: z.string().default('') }),
  roleRef: z.object({ kind: z.enum(['Role', 'ClusterRole']), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string().optional() })),
});

/** Returns the permissions that objects grant to a service account, by verb and resource. An empty name matches all names. */
export function grantsOf(objects: readonly Manifest[], account: { name: string; namespace: string }): Need[] {
  const roles = objects.flatMap((object) => roleSchema.safeParse(object).data ?? []);
  const bindings = objects.flatMap((object) => bindingSchema.safeParse(object).data ?? []);
  return bindings
    .filter(({ subjects }) => subjects.some((subject) => subject.name === account.name && subject.namespace === account.namespace))
    .flatMap(({ metadata: { namespace }, roleRef }) => {
      const isNamespaced = roleRef.kind === 'Role';
      const role = roles.find(
        ({ kind, metadata }) =>
          kind === roleRef.kind && metadata.name === roleRef.name && (!isNamespaced || metadata.namespace === namespace),
      );
      if (role === undefined) throw new Error(`there is no ${roleRef.kind} ${roleRef.name} in ${namespace}`);
      return role.rules.flatMap((rule) => needsOfRule(rule, namespace));
    });
}

function needsOfRule(
  { apiGroups, resources, nonResourceURLs, resourceNames, verbs }: z.output<typeof roleSchema>['rules'][number],
  namespace: string,
): Need[] {
  const paths = nonResourceURLs.flatMap((path) => verbs.map((verb) => ({ verb, resource: `path ${path}`, namespace: '', name: '' })));
  const needs = apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', ...subresource] = path.split('/');
      const whole = [qualified(resource, group), ...subresource].join('/');
      return resourceNames.flatMap((name) => verbs.map((verb) => ({ verb, resource: whole, namespace, name })));
    }),
  );
  return [...needs, ...paths];
}

/** Reports whether a grant allows a call. */
export const covers = (grant: Need, need: Need): boolean =>
  grant.verb === need.verb &&
  grant.resource === need.resource &&
  (grant.namespace === '' || grant.namespace === need.namespace) &&
  (grant.name === '' || grant.name === need.name);
