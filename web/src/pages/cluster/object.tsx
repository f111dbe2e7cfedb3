import { useEffect } from 'preact/hooks';
import { apiPath, type Kind, pageOf } from '../../api/kinds';
import { type Load, useLoad } from '../../api/load';
import { type ClusterObject, getJson } from '../../api/objects';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/pages';
import { type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Failure, Notice, Skeleton } from '../../ui/state';
import { Tabs } from '../../ui/tabs';
import { Summary } from './summary';
import { OfKind } from './use-kind';

export function Page({ params }: PageProps) {
  const { group = '', version = '', resource = '', namespace, name = '', tab } = params;
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) => <ObjectPage kind={kind} kinds={kinds} namespace={namespace} name={name} tab={tab} />}
    </OfKind>
  );
}

interface ObjectProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace?: string | undefined;
  name: string;
  tab?: string | undefined;
}

export function ObjectPage(props: ObjectProps) {
  const { kind, namespace, name } = props;
  const right = (verb: string): Right => ({ verb, group: kind.group, resource: kind.resource, name, ...(namespace && { namespace }) });
  const rights = { get: right('get') };
  useRights(Object.values(rights));
  useEffect(() => {
    document.title = `${name} · ${kind.title} · Atrium`;
  });
  return (
    <Guarded right={rights.get} title={name}>
      <OneObject key={`${kind.resource}.${kind.group}/${namespace}/${name}`} {...props} />
    </Guarded>
  );
}

function OneObject({ kind, kinds, namespace, name, tab = 'summary' }: ObjectProps) {
  const path = apiPath(kind, { namespace, name });
  const load: Load<ClusterObject> = useLoad(`object/${path}`, (signal) => getJson<ClusterObject>(path, signal));
  const [object, problem] = [load.data.value, load.error.value];
  const tabs = [{ id: 'summary', label: t('cluster.summary') }];
  return (
    <section class={`page ${tab === 'summary' ? '' : 'fill'}`}>
      <p class="crumb">
        <a href={href(pageOf(kind, { namespace }))}>{kind.title}</a>
        {namespace && <span class="muted"> · {namespace}</span>}
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{name}</h1>
      </header>
      {object === undefined ? (
        problem ? (
          <Failure problem={problem} onRetry={() => void load.reload()} />
        ) : (
          <Skeleton />
        )
      ) : (
        <>
          {problem && <Notice>{problem.message}</Notice>}
          <Tabs label={name} tabs={tabs} current={tab} to={(id) => pageOf(kind, { namespace, name }, id === 'summary' ? undefined : id)} />
          {tab === 'summary' && <Summary kinds={kinds} object={object} />}
        </>
      )}
    </section>
  );
}
