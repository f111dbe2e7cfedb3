import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { inWords } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { fetchResources } from '../access/known-resources';
import { RightFields, rightOf } from '../access/question';
import { BindingLink, kindOf, Notes, nameOf, RoleLink } from './grants';
import { listBindings, PermittedForm } from './permitted-form';

const pageSize = 100;

type Answer = Schemas['AccessSubjectList'];
type Subject = Answer['items'][number];
type Query = ReturnType<typeof queryOf>;

function queryOf(fields: Parameters<typeof rightOf>[0]) {
  const { verb, group, resource, subresource, namespace, name } = rightOf(fields);
  return {
    verb,
    ...(group && { group }),
    resource,
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
  };
}

const ask = (query: Query, page: number) =>
  bodyOf(api.GET('/auth/v1/accesssubjects', { params: { query: { ...query, limit: pageSize, page } } }));

/** Lists the subjects that may do something. */
export function WhoCan() {
  const fields = { verb: useSignal('list'), resource: useSignal('pods'), namespace: useSignal(''), name: useSignal('') };
  const answer = useSignal<(Answer & { query: Query }) | undefined>(undefined);
  const known = useLoad('resources', fetchResources);
  const namespaces = useLoad('namespaces/mine', (signal) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb: 'get', resource: 'pods', limit: 500 } }, signal })),
  );
  const { value: namespace } = fields.namespace;
  const right = listBindings(namespace ? 'rolebindings' : 'clusterrolebindings', namespace);
  async function show(): Promise<void> {
    const query = queryOf(fields);
    answer.value = undefined;
    answer.value = { ...(await ask(query, 1)), query };
  }
  async function more(): Promise<void> {
    const { value } = answer;
    if (value === undefined) return;
    const next = await ask(value.query, Math.floor(value.items.length / pageSize) + 1);
    answer.value = { ...next, query: value.query, items: [...value.items, ...next.items] };
  }
  return (
    <>
      <section class="card measure" aria-label={t('explorer.tab.who')}>
        <PermittedForm action={t('explorer.show')} right={right} onSubmit={show}>
          <RightFields
            {...fields}
            resources={known.data.value?.names ?? []}
            namespaces={namespaces.data.value?.items.map(({ metadata }) => metadata.name) ?? []}
          />
        </PermittedForm>
      </section>
      {answer.value && <Subjects of={answer.value} onMore={more} />}
    </>
  );
}

function Subjects({ of: { query, notes, total, items }, onMore }: { of: Answer & { query: Query }; onMore: () => Promise<void> }) {
  const title = t('explorer.mayDo', { right: inWords({ group: '', ...query }) });
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Notes notes={notes} />
      {items.length === 0 ? <Empty text={t('explorer.nobody')} /> : <SubjectTable label={title} items={items} />}
      {items.length < total && <Button onClick={() => void onMore()}>{t('explorer.showMore', { count: total - items.length })}</Button>}
    </section>
  );
}

const SubjectTable = ({ label, items }: { label: string; items: readonly Subject[] }) => (
  <PlainTable
    label={label}
    idOf={({ subject, memberOf = '', binding }) => JSON.stringify([subject, memberOf, binding])}
    rows={items}
    columns={[
      {
        title: t('explorer.subject'),
        cell: ({ subject, user }) => (
          <span>
            <span class="muted small">{kindOf(subject.kind)}</span>{' '}
            {user ? <a href={href(`/users/${user}`)}>{nameOf(subject)}</a> : nameOf(subject)}
          </span>
        ),
      },
      { title: t('explorer.through'), cell: ({ memberOf }) => memberOf },
      { title: t('explorer.binding'), cell: ({ binding }) => <BindingLink of={binding} /> },
      { title: t('explorer.role'), cell: ({ role }) => <RoleLink of={role} /> },
    ]}
  />
);
