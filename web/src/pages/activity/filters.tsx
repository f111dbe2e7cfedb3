/** Filters that read like a sentence: "Anyone did anything to any kind in all namespaces in the last 24 hours". */
import { useSignal } from '@preact/signals';
import { X } from 'lucide';
import { useEffect, useId } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { isListable, type Kind, kindId } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { useMyNamespaces } from '../../app/namespace';
import { QueryChoice } from '../../app/query-choice';
import { query, setQuery } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Combobox, type Suggestion } from '../../ui/combobox';
import { instant, localTime } from '../../ui/local-time';
import { actions, conditionsIn, periodWords, sinceIn } from './question';

const verbs = ['create', 'patch', 'update', 'delete', 'deletecollection', 'get', 'list', 'watch'] as const;

export function Filters({ kinds }: { kinds: readonly Kind[] }) {
  const namespaces = useMyNamespaces().data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  return (
    <search class="sentence" aria-label={t('activity.filters')}>
      <Slot name="actor" label={t('activity.who')} any={t('activity.anyone')} suggestions={useActors()} />
      <Slot name="actorGroup" label={t('activity.group')} any={t('activity.anyGroup')} suggestions={[]} />
      <QueryChoice
        name="verb"
        label={t('activity.verb')}
        any={t('activity.anything')}
        options={[...verbs, ...actions].map((verb) => [verb, t(`activity.did.${verb}`)])}
      />
      <Word of={t('activity.word.to')} />
      <Slot
        name="kind"
        label={t('activity.kind')}
        any={t('activity.anyKind')}
        suggestions={kinds
          .filter((kind) => kind.isPreferred && isListable(kind))
          .map((kind) => ({ value: kindId(kind), label: kind.kind }))}
      />
      <Slot name="name" label={t('activity.name')} any={t('activity.anyName')} suggestions={[]} />
      <Word of={t('activity.word.in')} />
      <Slot name="namespace" label={t('cluster.namespace')} any={t('cluster.allNamespaces')} suggestions={namespaces} />
      <QueryChoice
        name="outcome"
        label={t('activity.outcome')}
        any={t('activity.anyOutcome')}
        options={(['success', 'failure', 'unknown'] as const).map((outcome) => [outcome, t(`activity.outcome.${outcome}`)])}
      />
      <Slot name="text" label={t('activity.words')} any={t('activity.anyWords')} suggestions={[]} />
      <PeriodChoice />
      {given.map((name) => query.value.get(name) && <Given key={name} name={name} />)}
    </search>
  );
}

/** Conditions that other pages set, and this one takes away. */
const given = ['user', 'session', 'accessToken', 'subresource', 'request'] as const;

const Given = ({ name }: { name: (typeof given)[number] }) => (
  <Button kind="quiet" icon={X} onClick={() => setQuery({ [name]: '' })}>
    {t(`activity.given.${name}`)}
  </Button>
);

export const Word = ({ of }: { of: string }) => (of === '' ? null : <span class="word">{of}</span>);

/** Loads the users who did the most in the last month, for suggestions. */
function useActors(): readonly string[] {
  const load = useLoad('audit/actors', (signal) => {
    const conditions = conditionsIn(new URLSearchParams({ since: '30d' }), Date.now());
    return bodyOf(api.GET('/auth/v1/audit/counts', { params: { query: { ...conditions, by: 'actor' } }, signal }));
  });
  return load.data.value?.items.flatMap(({ actor }) => actor ?? []) ?? [];
}

interface SlotProps {
  /** In the address of the page. */
  name: string;
  label: string;
  /** Text of an address without the name. */
  any: string;
  suggestions: readonly (Suggestion | string)[];
}

/** A place of the sentence that takes any text. */
export function Slot({ name, label, any, suggestions }: SlotProps) {
  const id = useId();
  const shown = query.value.get(name) || any;
  const value = useSignal(shown);
  useEffect(() => {
    value.value = shown;
  }, [shown]);
  return (
    <Combobox
      id={id}
      label={label}
      value={value}
      suggestions={[any, ...suggestions]}
      attributes={{ 'aria-label': label, title: shown, maxLength: 253 }}
      choice={{
        shown,
        onChoose: (chosen) => setQuery({ [name]: chosen === any ? '' : chosen }),
        other: (text) => (text === '' ? undefined : { value: text }),
      }}
    />
  );
}

function PeriodChoice() {
  const since = sinceIn(query.value);
  function choose(chosen: string): void {
    if (chosen !== 'between') setQuery({ since: chosen, from: '', to: '' });
    else
      setQuery({ since: '', from: conditionsIn(query.value, Date.now()).from ?? new Date(0).toISOString(), to: new Date().toISOString() });
  }
  return (
    <>
      <label>
        <span class="hidden">{t('activity.period')}</span>
        <select value={since} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {periodWords.map((period) => (
            <option key={period} value={period}>
              {t(`activity.since.${period}`)}
            </option>
          ))}
          <option value="all">{t('activity.since.all')}</option>
          <option value="between">{t('activity.since.between')}</option>
        </select>
      </label>
      {since === 'between' && (
        <>
          <TimeField name="from" label={t('activity.fromTime')} />
          <TimeField name="to" label={t('activity.toTime')} />
        </>
      )}
    </>
  );
}

export const TimeField = ({ name, label }: { name: 'from' | 'to'; label: string }) => (
  <label>
    {label}
    <input
      type="datetime-local"
      value={localTime(query.value.get(name) ?? undefined)}
      onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value && instant(currentTarget.value) })}
    />
  </label>
);
