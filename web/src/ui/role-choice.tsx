import { type Signal, useSignal } from '@preact/signals';
import { api, base, bodyOf, type Schemas } from '../api/client';
import { useLoad } from '../api/load';
import { t } from '../text/text';
import { CheckField, Field } from './form';
import { instant } from './local-time';

export interface ClusterRole {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  rules?: { verbs?: string[]; apiGroups?: string[]; resources?: string[]; resourceNames?: string[]; nonResourceURLs?: string[] }[] | null;
}

/** The Kubernetes API, as the caller. @returns undefined where the caller may not, or it is switched off */
export async function fromCluster<T>(path: string, signal?: AbortSignal): Promise<T | undefined> {
  const response = await fetch(new URL(`api/kubernetes${path}`, base), {
    headers: { Accept: 'application/json' },
    ...(signal && { signal }),
  });
  return response.ok ? ((await response.json()) as T) : undefined;
}

const listRoles = { verb: 'list', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };

/** Names to suggest: those in the cluster, if the caller may list them. */
export async function roleNames(signal: AbortSignal): Promise<string[]> {
  const body = { spec: { resourceAttributes: listRoles } };
  const review = (await bodyOf(api.POST('/auth/v1/selfsubjectaccessreviews', { body, signal }))) as Schemas['SelfSubjectAccessReview'];
  const list = review.status.allowed
    ? await fromCluster<{ items: ClusterRole[] }>('/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=500', signal)
    : undefined;
  const names = list?.items.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('system:'));
  return names ?? ['admin', 'edit', 'view'];
}

/** From when and until when a role is given, as fields for local times have it; empty is without. */
export interface Term {
  notBefore: string;
  expiresAt: string;
}

/** A new UserBinding; in no namespaces means everywhere. */
export function bindingBody(
  subject: { kind: 'User' | 'Group'; name: string },
  role: string,
  namespaces: readonly string[],
  term: Partial<Term> = {},
) {
  const generateName = `${role
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 40)}-`;
  const constraint = namespaces.map((namespace) => ({ namespace }));
  const where = constraint.length > 0 ? { scope: 'namespace' as const, constraint } : { scope: 'platform' as const };
  const times = Object.fromEntries(Object.entries(term).flatMap(([name, local]) => (local ? [[name, instant(local)]] : [])));
  return { metadata: { generateName }, spec: { subjects: [subject], roleRef: role, ...where, ...times } };
}

/** Beyond these a box to find one is quicker than the eye. */
const many = 12;

/** Where a role holds: everywhere, or in chosen namespaces. */
export function NamespaceChoice({ chosen }: { chosen: Signal<readonly string[]> }) {
  const load = useLoad('namespaces/rolebindings', (signal) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb: 'get', resource: 'pods', limit: 500 } }, signal })),
  );
  const words = useSignal('');
  const names = load.data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  // What is chosen stays in sight, whatever is looked for.
  const shown = names.filter((name) => chosen.value.includes(name) || name.includes(words.value.trim().toLowerCase()));
  return (
    <fieldset>
      <legend>{t('roles.where')}</legend>
      <p class="muted small">
        {chosen.value.length === 0 ? t('roles.everywhereNow') : t('roles.inNow', { names: chosen.value.join(', ') })}
      </p>
      {names.length > many && <Field label={t('roles.find')} name="find" type="search" value={words} />}
      <div class="choices">
        {shown.map((name) => (
          <CheckField
            key={name}
            label={name}
            isChecked={chosen.value.includes(name)}
            onChange={(isChecked) => {
              chosen.value = isChecked ? [...chosen.value, name] : chosen.value.filter((other) => other !== name);
            }}
          />
        ))}
      </div>
    </fieldset>
  );
}
