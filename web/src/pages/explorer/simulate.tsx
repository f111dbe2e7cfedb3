import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useAsked } from '../../app/asked';
import { query, setQuery } from '../../app/router';
import { simulateRight } from '../../app/simulation';
import { t } from '../../text/text';
import { PlainTable } from '../../ui/plain-table';
import type { Place } from '../../ui/role-choice';
import { Empty, Notice } from '../../ui/state';
import { changeOf, type ChangeFields as Fields } from './change';
import { ChangeFields } from './change-fields';
import { inNamespace, kindOf, nameOf } from './grants';
import { PermittedForm } from './permitted-form';

type Simulation = Schemas['Simulation'];
type Item = Simulation['items'][number];
type Tuple = Schemas['AccessTuple'];

/** Fields of the change, with the values that the address names. `keep` writes them there. */
function useChange(): { fields: Fields; keep: () => void } {
  const { fields: asked, keep } = useAsked({
    ...{ type: 'userBinding', kind: 'user', subject: '', role: '', group: '', action: 'add' },
    ...{ roleKind: 'ClusterRole', name: '', namespace: '', verb: 'get, list', resource: 'pods', scope: '' },
  });
  const { kind, subject, roleKind, scope, ...rest } = asked;
  const namespaces = query.peek().getAll('in');
  const given: Place =
    scope.peek() === 'platform' ? { scope: 'platform', namespaces: [] } : { scope: namespaces.length > 0 ? 'namespace' : '', namespaces };
  const place = useSignal(given);
  return {
    fields: { ...rest, subject: { kind, name: subject }, kind: roleKind, place },
    keep() {
      scope.value = place.value.scope;
      keep();
      setQuery({ in: place.value.namespaces });
    },
  };
}

/** Simulates a change before it is made. */
export function Simulate() {
  const { fields, keep } = useChange();
  const answer = useSignal<Simulation | undefined>(undefined);
  async function simulate(): Promise<void> {
    keep();
    answer.value = undefined;
    answer.value = await bodyOf(api.POST('/auth/v1/simulations', { body: { changes: [await changeOf(fields)] } }));
  }
  return (
    <>
      <section class="card measure" aria-label={t('explorer.tab.simulate')}>
        <p class="muted">{t('explorer.simulateWhat')}</p>
        <PermittedForm action={t('explorer.simulate')} right={simulateRight} onSubmit={simulate}>
          <ChangeFields {...fields} />
        </PermittedForm>
      </section>
      {answer.value && <Outcome of={answer.value} />}
    </>
  );
}

/** Rights that subjects gain and lose, and the changes that the caller may not make. */
export function Outcome({ of: { items, refusals, complete, namespace } }: { of: Simulation }) {
  const isChanging = items.some(({ gained, lost }) => gained.length + lost.length > 0);
  return (
    <section aria-label={t('explorer.outcome')}>
      <h2>{t('explorer.outcome')}</h2>
      {refusals.map(({ change, message }) => (
        <Notice key={change} kind="warn">
          {t('explorer.refused')} {message}
        </Notice>
      ))}
      {refusals.length === 0 && <Notice kind="ok">{t('explorer.permitted')}</Notice>}
      {/* The caller of one namespace is told what is missing. */}
      {!isChanging && namespace === undefined && <Empty text={t(complete ? 'explorer.noChange' : 'explorer.noChangeSeen')} />}
      {items.map((item) => (
        <ItemCard key={JSON.stringify(item.subject)} {...item} isWhole={namespace === undefined} />
      ))}
    </section>
  );
}

function ItemCard({ subject, gained, lost, warnings, isWhole }: Item & { isWhole: boolean }) {
  const name = nameOf(subject);
  return (
    <section class="card" aria-label={name}>
      <h3>
        <span class="muted small">{kindOf(subject.kind)}</span> {name}
      </h3>
      {warnings.map((warning) => (
        <Notice key={warning} kind={warning === 'SystemMasters' ? 'info' : 'warn'}>
          {t(`explorer.note.${warning}`)}
        </Notice>
      ))}
      {gained.length > 0 && <Tuples title={t('explorer.gained')} label={t('explorer.gains', { name })} tuples={gained} />}
      {lost.length > 0 && <Tuples title={t('explorer.lost')} label={t('explorer.loses', { name })} tuples={lost} />}
      {isWhole && gained.length + lost.length === 0 && <p class="muted">{t('explorer.same')}</p>}
    </section>
  );
}

const whatOf = ({ path, group, resource = '', name }: Tuple): string =>
  path ?? `${resource}${group ? `.${group}` : ''}${name ? ` (${name})` : ''}`;

const Tuples = ({ title, label, tuples }: { title: string; label: string; tuples: readonly Tuple[] }) => (
  <>
    <h4>{title}</h4>
    <PlainTable
      label={label}
      idOf={(tuple) => `${whatOf(tuple)} ${tuple.namespace}`}
      rows={tuples}
      columns={[
        { title: t('access.resource'), cell: (tuple) => <code>{whatOf(tuple)}</code> },
        { title: t('explorer.verbs'), cell: ({ verbs }) => verbs.join(', ') },
        { title: t('access.namespace'), cell: ({ namespace }) => inNamespace(namespace) },
      ]}
    />
  </>
);
