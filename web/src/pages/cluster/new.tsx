import { type Kind, pageOf } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/pages';
import { type Right, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { t } from '../../text/text';
import { Skeleton } from '../../ui/state';
import { toast } from '../../ui/toast';
import { Edit } from './edit';
import { OfKind } from './use-kind';

/** Makes an object from YAML. */
export function Page({ params: { group = '', version = '', resource = '', namespace } }: PageProps) {
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind) => <New kind={kind} namespace={namespace} />}
    </OfKind>
  );
}

function New({ kind, namespace }: { kind: Kind; namespace: string | undefined }) {
  const right: Right = { verb: 'create', group: kind.group, resource: kind.resource, ...(namespace && { namespace }) };
  useRights([right]);
  return (
    <Guarded right={right} title={t('cluster.new', { kind: kind.kind })}>
      <NewObject kind={kind} namespace={namespace} />
    </Guarded>
  );
}

function NewObject({ kind, namespace }: { kind: Kind; namespace: string | undefined }) {
  const yaml = useLoad('heavy/editor', () => import('../../heavy/editor')).data.value;
  const list = pageOf(kind, { namespace });
  const metadata = { name: '', ...(kind.isNamespaced && { namespace: namespace ?? 'default' }) };
  const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  return (
    <section class="page fill">
      <p class="crumb">
        <a href={href(list)}>{kind.title}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{t('cluster.new', { kind: kind.kind })}</h1>
      </header>
      {yaml === undefined ? (
        <Skeleton rows={12} />
      ) : (
        <Edit
          kind={kind}
          text={yaml.stringify({ apiVersion, kind: kind.kind, metadata })}
          namespace={namespace}
          yaml={yaml}
          onCancel={() => navigate(list)}
          onDone={(made) => {
            toast('ok', t('cluster.createdNow', { kind: kind.kind, name: made.metadata.name }));
            navigate(pageOf(kind, made.metadata));
          }}
        />
      )}
    </section>
  );
}
