import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { asProblem, type Problem } from '../../api/problem';
import { useAsked } from '../../app/asked';
import { useMyNamespaces } from '../../app/namespace';
import { inWords } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { PlainTable } from '../../ui/plain-table';
import { Empty, ProblemNotice } from '../../ui/state';
import { useUnmountSignal } from '../../ui/unmount-signal';
import { fetchResources } from '../access/known-resources';
import { RightFields } from '../access/question';
import { rightOf } from '../access/right-of.ts';
import { BindingLink, kindOf, Notes, nameOf, RoleLink } from './grants';
import { listBindings, PermittedForm } from './permitted-form';

const pageSize = 100;

type Answer = Schemas['AccessSubjectList'];
type Subject = Answer['items'][number];
type Query = ReturnType<typeof queryOf>;
type Shown = Answer & { query: Query };

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

const ask = (query: Query, page: number, signal: AbortSignal) =>
  bodyOf(api.GET('/auth/v1/accesssubjects', { params: { query: { ...query, limit: pageSize, page } }, signal }));

/** Lists the subjects that may do something. */
export function WhoCan() {
  const { fields, isAsked, keep } = useAsked({ verb: 'list', resource: 'pods', namespace: '', name: '' });
  const answer = useSignal<Shown | undefined>(undefined);
  const known = useLoad('resources', fetchResources);
  const namespaces = useMyNamespaces();
  const { value: namespace } = fields.namespace;
  const right = listBindings(namespace ? 'rolebindings' : 'clusterrolebindings', namespace);
  async function show(signal: AbortSignal): Promise<void> {
    const query = queryOf(fields);
    keep();
    answer.value = undefined;
    answer.value = { ...(await ask(query, 1, signal)), query };
  }
  return (
    <>
      <section class="card measure" aria-label={t('explorer.tab.who')}>
        <PermittedForm action={t('explorer.show')} right={right} onSubmit={show} isSubmittedAtOnce={isAsked}>
          <RightFields
            {...fields}
            resources={known.data.value?.names ?? []}
            namespaces={namespaces.data.value?.items.map(({ metadata }) => metadata.name) ?? []}
          />
        </PermittedForm>
      </section>
      {answer.value && <Subjects answer={answer.value} onMore={(longer) => (answer.value = longer)} />}
    </>
  );
}

interface SubjectsProps {
  answer: Shown;
  onMore: (longer: Shown) => void;
}

/** Shows an answer while no other question is asked, which ends the request for its next page. */
function Subjects({ answer, onMore }: SubjectsProps) {
  const { query, notes, total, items } = answer;
  const signal = useUnmountSignal();
  const [isBusy, problem] = [useSignal(false), useSignal<Problem | undefined>(undefined)];
  async function more(): Promise<void> {
    if (isBusy.value) return;
    isBusy.value = true;
    problem.value = undefined;
    try {
      const next = await ask(query, Math.floor(items.length / pageSize) + 1, signal);
      if (!signal.aborted) onMore({ ...next, query, items: [...items, ...next.items] });
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  const title = t('explorer.mayDo', { right: inWords({ group: '', ...query }) });
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Notes notes={notes} />
      {items.length === 0 ? <Empty text={t('explorer.nobody')} /> : <SubjectTable label={title} items={items} />}
      {problem.value && <ProblemNotice of={problem.value} />}
      {items.length < total && (
        <Button isBusy={isBusy.value} onClick={() => void more()}>
          {t('explorer.showMore', { count: total - items.length })}
        </Button>
      )}
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
