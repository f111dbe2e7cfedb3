import { useEffect } from 'preact/hooks';
import { isListable, type Kind } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { fetchOffered } from '../../../api/offered';
import { setTitle } from '../../../app/brand';
import { listRights } from '../../../app/list-rights';
import type { PageProps } from '../../../app/page-props';
import { askRights, may, rightsProblem, useRights } from '../../../app/rights';
import { loadTexts } from '../../../text/text';
import { Loaded } from '../../../ui/loaded';
import { Failure, Skeleton } from '../../../ui/state';
import { OfKind } from '../use-kind';
import type { ListProps, ListRights } from './list-frame';
import { MyNamespaces } from './my-namespaces';
import { OfferedRows } from './offered-rows';
import { TableRows } from './table-rows';

export function Page({ params }: PageProps) {
  const { group = '', version = '', resource = '', namespace } = params;
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) =>
        // The name of a cluster-scoped object may be `ns`.
        namespace !== undefined && !kind.isNamespaced ? (
          <ObjectCalledNs kind={kind} kinds={kinds} tab={namespace} />
        ) : (
          <List key={`${resource}.${group}/${namespace ?? ''}`} kind={kind} kinds={kinds} namespace={namespace} />
        )
      }
    </OfKind>
  );
}

function ObjectCalledNs(props: { kind: Kind; kinds: readonly Kind[]; tab: string }) {
  const load = useLoad('page/object', async () => (await Promise.all([import('../object/object'), loadTexts('object')]))[0]);
  return <Loaded load={load}>{({ ObjectPage }) => <ObjectPage {...props} name="ns" />}</Loaded>;
}

function List({ kind, kinds, namespace }: ListProps & { kinds: readonly Kind[] }) {
  const rights = listRights(kind, namespace);
  useRights(Object.values(rights));
  useEffect(() => {
    setTitle(kind.title);
  });
  return (
    <section class="page fill">
      <ListOf kind={kind} kinds={kinds} namespace={namespace} rights={rights} />
    </section>
  );
}

/**
 * Shows the list of the service if it has one for the kind, which covers all namespaces that the caller may see; otherwise that of the API
 * server.
 */
function ListOf({ kind, kinds, namespace, rights }: ListProps & { kinds: readonly Kind[]; rights: ListRights }) {
  const offered = useLoad('offered', fetchOffered);
  const found = offered.data.value?.items.find(
    ({ group, version, resource }) => group === kind.group && version === kind.version && resource === kind.resource,
  );
  const mayList = isListable(kind) ? may(rights.list) : false;
  const isAsked = offered.data.value !== undefined || offered.error.value !== undefined;
  const none = <MyNamespaces kind={kind} right={rights.list} namespace={namespace} />;
  const isKnown = isAsked && mayList !== undefined;
  if (isKnown && found !== undefined && (mayList || namespace === undefined))
    return <OfferedRows kind={kind} kinds={kinds} namespace={namespace} rights={rights} columns={found.columns} none={none} />;
  if (isKnown && mayList) return <TableRows kind={kind} kinds={kinds} namespace={namespace} rights={rights} />;
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>{kind.title}</h1>
      </header>
      {isKnown ? none : <Unknown rights={rights} />}
    </>
  );
}

/** Shown until the rights are known, which decide how the list is read. */
function Unknown({ rights }: { rights: ListRights }) {
  const problem = rightsProblem.value;
  return problem ? <Failure problem={problem} onRetry={() => void askRights(Object.values(rights))} /> : <Skeleton rows={12} />;
}
