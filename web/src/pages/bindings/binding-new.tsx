import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { bindingCreator } from '../../api/create-binding';
import { useLoad } from '../../api/load';
import { Guarded } from '../../app/guarded';
import { useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { SimulateLink } from '../../app/simulation';
import { dateTime, t, timeZone } from '../../text/text';
import type { Suggestion } from '../../ui/combobox';
import { CheckField, Field, Form } from '../../ui/form';
import { bindingBody, noPlace, PlaceChoice, placeInWords, roleSuggestions } from '../../ui/role-choice';
import { RulesOf } from '../../ui/rules';

const createRight = { verb: 'create', resource: 'userbindings' };

export function Page() {
  useRights([createRight]);
  return (
    <Guarded right={createRight} title={t('bindings.new')}>
      <NewBinding />
    </Guarded>
  );
}

type SubjectKind = 'User' | 'Group';

function useFields() {
  return {
    kind: useSignal<SubjectKind>('User'),
    who: useSignal(''),
    role: useSignal(''),
    place: useSignal(noPlace),
    begin: useSignal(''),
    end: useSignal(''),
  };
}

type Fields = ReturnType<typeof useFields>;

/** Form for the subject, role and place of a binding, with a sentence that sums it up before it is created. */
function NewBinding() {
  const fields = useFields();
  const { kind, who, role, place, begin, end } = fields;
  const roles = useLoad('roles', roleSuggestions);
  const createOnce = useMemo(bindingCreator, []);
  async function create(signal: AbortSignal): Promise<void> {
    const subject = { kind: kind.value, name: await subjectOf(kind.value, who.value, signal) };
    signal.throwIfAborted();
    const body = bindingBody(subject, role.value, place.value, { notBefore: begin.value, expiresAt: end.value });
    const name = await createOnce(body);
    signal.throwIfAborted();
    navigate(`/bindings/${name}`);
  }
  return (
    <section class="page narrow">
      <p class="crumb">
        <a href={href('/bindings')}>{t('bindings.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{t('bindings.new')}</h1>
      </header>
      <Form action={t('bindings.create')} onSubmit={create} onCancel={() => navigate('/bindings')}>
        <SubjectFields kind={kind} who={who} />
        <Field label={t('roles.role')} name="spec.roleRef" value={role} isRequired suggestions={roles.data.value ?? []} />
        <RulesOf role={roles.data.value?.some(({ value }) => value === role.value) ? role.value : ''} />
        <PlaceChoice place={place} role={role.value} />
        <fieldset>
          <legend>{t('bindings.when')}</legend>
          <p class="muted small">{t('bindings.whenHint', { zone: timeZone() })}</p>
          <div class="row">
            <Field label={t('bindings.from')} name="spec.notBefore" type="datetime-local" value={begin} />
            <Field label={t('bindings.until')} name="spec.expiresAt" type="datetime-local" value={end} />
          </div>
        </fieldset>
        <Sentence of={fields} />
      </Form>
    </section>
  );
}

function SubjectFields({ kind, who }: Pick<Fields, 'kind' | 'who'>) {
  const found = useLoad(`subjects/${kind.value}/${who.value}`, (signal) => suggestionsFor(kind.value, who.value, signal));
  return (
    <>
      <fieldset>
        <legend>{t('bindings.who')}</legend>
        <div class="row">
          {(['User', 'Group'] as const).map((choice) => (
            <CheckField
              key={choice}
              type="radio"
              name="kind"
              label={t(`bindings.kind${choice}`)}
              isChecked={kind.value === choice}
              onChange={() => {
                kind.value = choice;
                who.value = '';
              }}
            />
          ))}
        </div>
      </fieldset>
      <Field
        label={kind.value === 'User' ? t('users.email') : t('bindings.groupName')}
        name="spec.subjects[0].name"
        value={who}
        isRequired
        suggestions={found.data.value ?? []}
        {...(kind.value === 'Group' && { hint: t('bindings.groupHint') })}
      />
    </>
  );
}

/** Sums up the binding, once it has a subject, a role and a place. */
function Sentence({ of: { kind, who, role, place, end } }: { of: Fields }) {
  const where = placeInWords(place.value);
  if (!who.value || !role.value || !where) return null;
  return (
    <div class="notice info">
      <div class="beside">
        <p>
          {t('bindings.sentence', { who: who.value, role: role.value, where })}
          {end.value && ` ${t('bindings.ends', { time: dateTime(end.value) })}`}
        </p>
        <SimulateLink
          of={{
            ...{ type: 'userBinding', kind: kind.value === 'User' ? 'user' : 'group', subject: who.value, role: role.value },
            ...place.value,
          }}
        />
      </div>
    </div>
  );
}

async function suggestionsFor(kind: SubjectKind, search: string, signal: AbortSignal): Promise<Suggestion[]> {
  if (kind === 'Group') {
    const asked = { search: search.replace(/^local:/, ''), limit: 20 };
    const { items } = await bodyOf(api.GET('/auth/v1/groups', { params: { query: asked }, signal }));
    return items.map(({ metadata, spec }) => ({
      value: spec.refConnector ? metadata.name : `local:${metadata.name}`,
      label: spec.displayName,
    }));
  }
  const { items } = await bodyOf(api.GET('/auth/v2/users', { params: { query: { search, limit: 10 } }, signal }));
  return items.map(({ spec }) => ({ value: spec.email, label: spec.username }));
}

/**
 * Returns the record name of a user with this e-mail address, so that the binding is deleted with the user record; any other name is that
 * of Kubernetes.
 */
async function subjectOf(kind: SubjectKind, name: string, signal: AbortSignal): Promise<string> {
  if (kind === 'Group') return name;
  const { items } = await bodyOf(api.GET('/auth/v2/users', { params: { query: { search: name, limit: 10 } }, signal }));
  return items.find(({ spec }) => spec.email.toLowerCase() === name.toLowerCase())?.metadata.name ?? name;
}
