import { useSignal } from '@preact/signals';
import { Columns3, Plus, Search, Trash2, X } from 'lucide';
import { useEffect, useMemo } from 'preact/hooks';
import { isListable, type Kind, pageOf } from '../../api/kinds';
import { setTitle } from '../../app/brand';
import type { PageProps } from '../../app/pages';
import { may, type Right, useRights } from '../../app/rights';
import { href, query, setQuery } from '../../app/router';
import { count, t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { Icon } from '../../ui/icon';
import { Menu } from '../../ui/menu';
import { Empty, Failure, Notice, Skeleton } from '../../ui/state';
import { type Column, Table } from '../../ui/table';
import { cellOf } from './cells';
import { DeleteSelected } from './delete-selected';
import { MyNamespaces } from './my-namespaces';
import { ObjectPage } from './object';
import { type Row, TableList } from './table-list';
import { OfKind } from './use-kind';

export function Page({ params }: PageProps) {
  const { group = '', version = '', resource = '', namespace } = params;
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) =>
        // An object without a namespace may itself be called `ns`.
        namespace !== undefined && !kind.isNamespaced ? (
          <ObjectPage kind={kind} kinds={kinds} name="ns" tab={namespace} />
        ) : (
          <List key={`${resource}.${group}/${namespace ?? ''}`} kind={kind} namespace={namespace} />
        )
      }
    </OfKind>
  );
}

interface ListProps {
  kind: Kind;
  namespace: string | undefined;
}

const rightsOf = ({ group, resource }: Kind, namespace: string | undefined) => {
  const right = (verb: string): Right => ({ verb, group, resource, ...(namespace !== undefined && { namespace }) });
  return { list: right('list'), watch: right('watch'), create: right('create'), remove: right('delete') };
};

function List({ kind, namespace }: ListProps) {
  const rights = rightsOf(kind, namespace);
  useRights(Object.values(rights));
  useEffect(() => {
    setTitle(kind.title);
  });
  const mayList = isListable(kind) ? may(rights.list) : false;
  return (
    <section class="page fill">
      {mayList === true ? (
        <Rows kind={kind} namespace={namespace} rights={rights} />
      ) : (
        <>
          <header class="page-head">
            <h1 tabIndex={-1}>{kind.title}</h1>
          </header>
          {mayList === undefined ? <Skeleton rows={12} /> : <MyNamespaces kind={kind} right={rights.list} namespace={namespace} />}
        </>
      )}
    </section>
  );
}

function Rows({ kind, namespace, rights }: ListProps & { rights: ReturnType<typeof rightsOf> }) {
  const selector = query.value.get('selector') ?? '';
  const list = useMemo(() => new TableList(kind, namespace, selector), [kind, namespace, selector]);
  const selected = useSignal<ReadonlyMap<string, Row>>(new Map());
  const isDeleting = useSignal(false);
  const mayWatch = may(rights.watch) === true && kind.verbs.includes('watch');
  useEffect(() => {
    list.start(mayWatch);
    return () => list.stop();
  }, [list, mayWatch]);

  const search = query.value.get('q') ?? '';
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(query.value.get('sort') ?? '') ?? [];
  const sort = { by: by || 'Name', isDescending: descending === '-' };
  const isWide = query.value.get('columns') === 'all';
  const rows = list.shown({ search, sort });
  const total = rows?.length;
  const columns: Column<Row>[] = list.columns.value
    .filter(({ priority, name }) => priority === 0 || isWide || name === 'Name')
    .flatMap((column, index) => {
      const shown = cellOf(kind, column, index);
      return index === 0 && kind.isNamespaced && namespace === undefined ? [shown, namespaceColumn(kind)] : [shown];
    });
  const mayDelete = may(rights.remove) === true && kind.verbs.includes('delete');

  function select(chosen: readonly Row[], isSelected: boolean): void {
    const next = new Map(selected.value);
    for (const row of chosen) {
      if (isSelected) next.set(row.metadata.uid, row);
      else next.delete(row.metadata.uid);
    }
    selected.value = next;
  }

  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>{kind.title}</h1>
        <p class="muted" role="status">
          {total !== undefined && t('cluster.count', { count: total, shown: count(total) })}
        </p>
        <div class="buttons">
          {may(rights.create) && kind.verbs.includes('create') && (
            <LinkButton
              to={`/new/${kind.group || 'core'}/${kind.version}/${kind.resource}${namespace ? `/ns/${namespace}` : ''}`}
              kind="main"
              icon={Plus}
            >
              {t('cluster.new', { kind: kind.kind })}
            </LinkButton>
          )}
        </div>
      </header>
      {total !== undefined && (
        <search class="filters">
          <label class="search">
            <span class="hidden">{t('cluster.search')}</span>
            <Icon of={Search} />
            <input
              type="search"
              data-find
              placeholder={t('cluster.search')}
              maxLength={128}
              spellcheck={false}
              value={search}
              onInput={({ currentTarget }) => setQuery({ q: currentTarget.value.trim() })}
            />
          </label>
          {list.columns.value.some(({ priority }) => priority > 0) && (
            <div class="columns-choice">
              <Menu
                label={t('cluster.columns')}
                icon={Columns3}
                kind="plain"
                items={[
                  { label: t('cluster.columnsUsual'), isChecked: !isWide, act: () => setQuery({ columns: '' }) },
                  { label: t('cluster.columnsAll'), isChecked: isWide, act: () => setQuery({ columns: 'all' }) },
                ]}
              >
                {t('cluster.columns')}
              </Menu>
            </div>
          )}
        </search>
      )}
      {selector && (
        <Notice kind="info">
          {t('cluster.selector')} <code>{selector}</code>{' '}
          <Button kind="quiet" onClick={() => setQuery({ selector: '' })}>
            {t('cluster.showAll')}
          </Button>
        </Notice>
      )}
      {selected.value.size > 0 && (
        <section class="selection" aria-label={t('cluster.selected', { count: selected.value.size })}>
          <strong>{t('cluster.selected', { count: selected.value.size })}</strong>
          <Button
            icon={Trash2}
            kind="danger"
            onClick={() => {
              isDeleting.value = true;
            }}
          >
            {t('cluster.delete')}
          </Button>
          <Button
            icon={X}
            kind="quiet"
            label={t('users.clearSelection')}
            onClick={() => {
              selected.value = new Map();
            }}
          />
        </section>
      )}
      {isDeleting.value && (
        <DeleteSelected
          kind={kind}
          rows={[...selected.value.values()]}
          onClose={() => {
            isDeleting.value = false;
          }}
          onDone={() => {
            isDeleting.value = false;
            selected.value = new Map();
            void list.refresh();
          }}
        />
      )}
      <Notes list={list} />
      {body()}
    </>
  );

  function body() {
    const problem = list.error.value;
    if (total === undefined || rows === undefined)
      return problem ? <Failure problem={problem} onRetry={() => void list.refresh()} /> : <Skeleton rows={12} />;
    if (total === 0)
      return (
        <Empty text={search ? t('cluster.noneMatch') : t('cluster.none', { kind: kind.title })}>
          {search && <Button onClick={() => setQuery({ q: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    return (
      <Table
        label={kind.title}
        columns={columns}
        total={total}
        row={(index) => rows[index]}
        idOf={({ metadata }) => metadata.uid}
        nameOf={({ metadata }) => metadata.name}
        sort={sort}
        onSort={({ by: name, isDescending }) =>
          setQuery({ sort: (isDescending ? '-' : '') + (name === 'Name' && !isDescending ? '' : name) })
        }
        {...(mayDelete && { selected: new Set(selected.value.keys()), onSelect: select })}
      />
    );
  }
}

/** What is to be known of a list that is not all of it, not fresh, or that has changed. */
function Notes({ list }: { list: TableList }) {
  const [waiting, remaining, problem] = [list.waiting.value, list.remaining.value, list.error.value];
  return (
    <>
      {problem && list.isRead && <Notice>{problem.message}</Notice>}
      {remaining && (
        <Notice kind="info">
          {t('cluster.first', { count: list.size.value, shown: count(list.size.value) })}{' '}
          <Button kind="quiet" onClick={() => void list.more()} isBusy={list.isBusy.value}>
            {t('cluster.more')}
          </Button>
        </Notice>
      )}
      {waiting > 0 && (
        <Notice kind="info">
          {t('list.changes', { count: waiting })}{' '}
          <Button kind="quiet" onClick={() => list.show()}>
            {t('list.show')}
          </Button>
        </Notice>
      )}
    </>
  );
}

const namespaceColumn = (kind: Kind): Column<Row> => ({
  id: 'namespace',
  title: t('cluster.namespace'),
  sortBy: 'Namespace',
  cell: ({ metadata }) => <a href={href(pageOf(kind, { namespace: metadata.namespace }))}>{metadata.namespace}</a>,
});
