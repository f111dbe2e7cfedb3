import { type Signal, useSignal } from '@preact/signals';
import { Plus, Puzzle, Trash2, X } from 'lucide';
import type { ComponentChildren } from 'preact';
import { type Kind, newPageOf } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { keyOf } from '../../../api/objects';
import type { listRights } from '../../../app/list-rights';
import { RefusedMenu } from '../../../app/refused-menu';
import { may, type Right } from '../../../app/rights';
import { query, setQuery } from '../../../app/router';
import { allowedOf, refTo, usePluginActions } from '../../../plugins/actions';
import { count, t } from '../../../text/text';
import { Button, LinkButton } from '../../../ui/button';
import { Loaded } from '../../../ui/loaded';
import { Notice } from '../../../ui/state';
import { changesFor, type Listed, type SelectedChange } from './selected-changes';

export interface ListProps {
  kind: Kind;
  namespace: string | undefined;
}

export type ListRights = Readonly<Record<keyof ReturnType<typeof listRights>, Right>>;

/** Rows that are selected, and how they are. */
export interface Selected {
  rows: Signal<ReadonlyMap<string, Listed>>;
  select: (rows: readonly { metadata: Listed }[], isSelected: boolean) => void;
}

export function useSelected(): Selected {
  const rows = useSignal<ReadonlyMap<string, Listed>>(new Map());
  return {
    rows,
    select(chosen, isSelected) {
      const next = new Map(rows.value);
      for (const { metadata } of chosen) {
        if (isSelected) next.set(keyOf(metadata), metadata);
        else next.delete(keyOf(metadata));
      }
      rows.value = next;
    },
  };
}

interface ListFrameProps extends ListProps {
  rights: ListRights;
  /** Undefined before the first answer. */
  total: number | undefined;
  /** Search field, which stays while the answer loads. */
  search: ComponentChildren;
  /** Filters beside the search field. */
  filters?: ComponentChildren;
  selected: Selected;
  /** Called when the list must be read again. */
  onDeleted: () => void;
  children: ComponentChildren;
}

/** Frame of a list of objects: their number, the search, the selection, and the button that creates an object. */
export function ListFrame({ kind, namespace, rights, total, search, filters, selected, onDeleted, children }: ListFrameProps) {
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>{kind.title}</h1>
        <p class="muted" role="status" dir="auto">
          {total !== undefined && t('cluster.count', { count: total, shown: count(total) })}
        </p>
        <HeadButtons {...{ kind, namespace, rights }} />
      </header>
      {search && (
        <search class="filters">
          {search}
          {filters}
        </search>
      )}
      <SelectorNotice selector={query.value.get('selector') ?? ''} />
      <Selection {...{ kind, namespace, rights, selected, onDeleted }} />
      {children}
    </>
  );
}

function HeadButtons({ kind, namespace, rights }: ListProps & { rights: ListRights }) {
  const label = t('cluster.new', { kind: kind.kind });
  const offers = [
    { verb: 'create', rights: [rights.create], label, icon: Plus },
    { verb: 'delete', rights: [rights.remove], label: t('cluster.delete'), icon: Trash2 },
  ];
  return (
    <div class="buttons">
      {kind.verbs.includes('create') && may(rights.create) && (
        <LinkButton to={newPageOf(kind, namespace)} kind="main" icon={Plus}>
          {label}
        </LinkButton>
      )}
      <RefusedMenu of={offers.filter(({ verb }) => kind.verbs.includes(verb))} />
    </div>
  );
}

function SelectorNotice({ selector }: { selector: string }) {
  if (selector === '') return null;
  return (
    <Notice kind="info">
      {t('cluster.selector')} <code>{selector}</code>{' '}
      <Button kind="quiet" onClick={() => setQuery({ selector: '' })}>
        {t('cluster.showAll')}
      </Button>
    </Notice>
  );
}

/** Shows the number of selected rows, and changes their objects. */
function Selection(props: Pick<ListFrameProps, 'kind' | 'namespace' | 'rights' | 'selected' | 'onDeleted'>) {
  const { kind, namespace, rights, selected, onDeleted } = props;
  const added = allowedOf(usePluginActions(kind.group, kind.resource, namespace));
  const change = useSignal<SelectedChange['id'] | undefined>(undefined);
  const chosen = [...selected.rows.value.values()];
  const clear = () => {
    selected.rows.value = new Map();
  };
  const close = () => {
    change.value = undefined;
  };
  return (
    <>
      {chosen.length > 0 && (
        <section class="selection" aria-label={t('cluster.selected', { count: chosen.length })}>
          <strong>{t('cluster.selected', { count: chosen.length })}</strong>
          {changesFor(kind, rights).map(({ id, label, icon }) => (
            <Button
              key={id}
              icon={icon}
              kind={id === 'delete' ? 'danger' : 'plain'}
              onClick={() => {
                change.value = id;
              }}
            >
              {t(label)}
            </Button>
          ))}
          {added.map(({ label, run }) => (
            <Button key={label} icon={Puzzle} onClick={() => run(chosen.map((row) => refTo(kind, row)))}>
              {label}
            </Button>
          ))}
          <Button icon={X} kind="quiet" label={t('users.clearSelection')} onClick={clear} />
        </section>
      )}
      {change.value !== undefined && (
        <ChangeOf
          of={change.value}
          kind={kind}
          rows={chosen}
          onClose={close}
          onDone={() => {
            close();
            clear();
            onDeleted();
          }}
        />
      )}
    </>
  );
}

/** The dialog of a change, whose code is loaded at its first use. */
function ChangeOf({ onClose, ...props }: Parameters<typeof import('./change-selected').ChangeSelected>[0]) {
  const load = useLoad('page/change-selected', async () => (await import('./change-selected')).ChangeSelected);
  return <Loaded load={load}>{(ChangeSelected) => <ChangeSelected {...props} onClose={onClose} />}</Loaded>;
}
