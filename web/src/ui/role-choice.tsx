import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type Signal, useSignal } from '@preact/signals';
import { api, bodyOf } from '../api/client';
import { useMyNamespaces } from '../app/namespace';
import { askRights, may } from '../app/rights';
import { t } from '../text/text';
import type { Suggestion } from './combobox';
import { CheckField, Field } from './form';
import { instant } from './local-time';
import { FirstOnly, Notice } from './state';

export interface ClusterRole {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  rules?: { verbs?: string[]; apiGroups?: string[]; resources?: string[]; resourceNames?: string[]; nonResourceURLs?: string[] }[] | null;
}

const listRoles = { verb: 'list', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };

const bindRight = (name?: string) => ({
  ...{ verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  ...(name !== undefined && { name }),
});

const maxAsked = 200;

/** Suggests the cluster's roles, if the caller may list them. A role that cannot be bound shows the reason. */
export async function roleSuggestions(signal: AbortSignal): Promise<Suggestion[]> {
  await askRights([listRoles]);
  if (!may(listRoles)) return ['view', 'edit', 'admin'].map((value) => ({ value }));
  const { items } = await bodyOf(api.GET('/auth/v2/bindableroles', { signal }));
  const shown = items.filter(({ name }) => !name.startsWith('system:'));
  await askRights([bindRight()]);
  const isAny = may(bindRight()) === true;
  const asked = shown.filter(({ bindable }) => bindable.isBindable).slice(0, maxAsked);
  if (!isAny) await askRights(asked.map(({ name }) => bindRight(name)));
  const refusalOf = ({ name, bindable }: (typeof shown)[number]) => {
    if (!bindable.isBindable) return t('roles.notByService');
    return !isAny && may(bindRight(name)) === false ? t('roles.notByYou') : undefined;
  };
  const roles = shown.map((role): Suggestion => ({ value: role.name, refused: refusalOf(role) }));
  return [...roles.filter(({ refused }) => !refused), ...roles.filter(({ refused }) => refused)];
}

/** Begin and end of a binding, as fields for local times have them; empty means none. */
export interface Term {
  notBefore: string;
  expiresAt: string;
}

/** The scope of a role, empty until it is chosen. */
export interface Place {
  scope: '' | 'namespace' | 'platform';
  namespaces: readonly string[];
}

export const noPlace: Place = { scope: '', namespaces: [] };

export const placeInWords = ({ scope, namespaces }: Place): string =>
  scope === 'platform' ? t('roles.everywhere') : namespaces.join(', ');

/** Builds a new UserBinding. @throws Error if no namespace is chosen */
export function bindingBody(subject: { kind: 'User' | 'Group'; name: string }, role: string, place: Place, term: Partial<Term> = {}) {
  const generateName = `${role
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 40)}-`;
  const constraint = place.namespaces.map((namespace) => ({ namespace }));
  if (place.scope !== 'platform' && constraint.length === 0) throw new Error(t('roles.chooseNamespace'));
  const where = place.scope === 'platform' ? { scope: place.scope } : { scope: 'namespace' as const, constraint };
  const times = Object.fromEntries(Object.entries(term).flatMap(([name, local]) => (local ? [[name, instant(local)]] : [])));
  return { metadata: { generateName }, spec: { subjects: [subject], roleRef: role, ...where, ...times } };
}

/** More boxes make the form slow. */
const shownNames = 200;

/** Number of namespaces above which a search field is faster than reading. */
const many = 12;

const isPowerful = (role: string) => role === 'edit' || role.includes('admin');

interface ScopeChoiceProps {
  scope: Place['scope'];
  onChoose: (scope: 'namespace' | 'platform') => void;
}

/** Asks whether a role applies in namespaces or in the whole cluster. */
export const ScopeChoice = ({ scope, onChoose }: ScopeChoiceProps) => (
  <div class="row">
    {(['namespace', 'platform'] as const).map((choice) => (
      <CheckField
        key={choice}
        type="radio"
        name="scope"
        label={t(`roles.scope.${choice}`)}
        isChecked={scope === choice}
        isRequired
        onChange={() => onChoose(choice)}
      />
    ))}
  </div>
);

/** Asks where a role applies: in chosen namespaces or in the whole cluster. No choice is made beforehand. */
export function PlaceChoice({ place, role }: { place: Signal<Place>; role: string }) {
  const { scope } = place.value;
  return (
    <fieldset>
      <legend>{t('roles.where')}</legend>
      <ScopeChoice
        scope={scope}
        onChoose={(choice) => {
          place.value = { ...place.value, scope: choice };
        }}
      />
      {scope === 'namespace' && <NamespaceChoice place={place} />}
      {scope === 'platform' && isPowerful(role) && <Notice kind="warn">{t('roles.powerful', { role })}</Notice>}
    </fieldset>
  );
}

function NamespaceChoice({ place }: { place: Signal<Place> }) {
  const load = useMyNamespaces();
  const words = useSignal('');
  const chosen = place.value.namespaces;
  const names = load.data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  // A chosen namespace stays visible during a search.
  const found = names.filter((name) => chosen.includes(name) || folded(name).includes(wantedText(words.value)));
  const shown = found.filter((name, index) => chosen.includes(name) || index < shownNames);
  return (
    <>
      {load.error.value && <Notice>{load.error.value.message}</Notice>}
      {names.length > many && <Field label={t('roles.find')} name="find" type="search" value={words} />}
      <div class="choices">
        {shown.map((name) => (
          <CheckField
            key={name}
            label={name}
            isChecked={chosen.includes(name)}
            onChange={(isChecked) => {
              const namespaces = isChecked ? [...chosen, name] : chosen.filter((other) => other !== name);
              place.value = { ...place.value, namespaces };
            }}
          />
        ))}
      </div>
      {found.length > shown.length && <p class="muted">{t('users.more', { count: found.length - shown.length })}</p>}
      <FirstOnly isPart={Boolean(load.data.value?.metadata.continue)} count={names.length} kind="Namespaces" />
    </>
  );
}
