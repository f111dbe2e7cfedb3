import { useSignal } from '@preact/signals';
import type { Schemas } from '../../api/client';
import { t } from '../../text/text';
import { Field } from '../../ui/form';

type Scope = NonNullable<Schemas['AccessToken']['spec']['scope']>;

/** Rules of a token that reads. */
const reading = [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }];

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** Fields of the scope of a new token. */
export function useScope() {
  const fields = { rights: useSignal('all'), namespaces: useSignal(''), networks: useSignal('') };
  return {
    ...fields,
    /** Returns the member of a request; none for a token with all rights. */
    scope(): { scope?: Scope } {
      const [namespaces, networks] = [wordsIn(fields.namespaces.value), wordsIn(fields.networks.value)];
      const scope: Scope = {
        ...(fields.rights.value === 'read' && { rules: reading }),
        ...(namespaces.length > 0 && { namespaces }),
        ...(networks.length > 0 && { networks }),
      };
      return Object.keys(scope).length > 0 ? { scope } : {};
    },
  };
}

export const ScopeFields = ({ of: { rights, namespaces, networks } }: { of: ReturnType<typeof useScope> }) => (
  <>
    <Field label={t('tokens.rights')} name="scope.rules" value={rights}>
      <option value="all">{t('tokens.allRights')}</option>
      <option value="read">{t('tokens.reads')}</option>
    </Field>
    <Field label={t('tokens.namespaces')} name="scope.namespaces" value={namespaces} hint={t('tokens.namespacesHint')} />
    <Field label={t('tokens.networks')} name="scope.networks" value={networks} hint={t('tokens.networksHint')} />
  </>
);

const isReading = (rules: Scope['rules']): boolean => JSON.stringify(rules) === JSON.stringify(reading);

const wordsOf = (rules: NonNullable<Scope['rules']>): string =>
  isReading(rules) ? t('tokens.reads') : [...new Set(rules.flatMap(({ verbs }) => verbs))].join(', ');

/** Returns the words for a scope, in a cell of a list. */
export function scopeText(scope: Scope | undefined): string {
  const { rules, namespaces = [], operations = [], networks = [] } = scope ?? {};
  const rights = rules ? wordsOf(rules) : operations.length === 0 && t('tokens.allRights');
  return [rights, ...[operations, namespaces, networks].map((words) => words.join(', '))].filter(Boolean).join(' · ');
}
