import { type Kind, pageOf } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { fetchSchemas } from '../../../api/openapi';
import { Guarded } from '../../../app/guarded';
import type { PageProps } from '../../../app/page-props';
import { type Right, useRights } from '../../../app/rights';
import { href, navigate } from '../../../app/router';
import { t } from '../../../text/text';
import { Skeleton } from '../../../ui/state';
import { toast } from '../../../ui/toast';
import { OfKind } from '../use-kind';
import { Edit } from './edit';
import { hasSample, requiredOf, sampleOf } from './samples';

/** Creates an object from YAML. */
export function Page({ params: { group = '', version = '', resource = '', namespace } }: PageProps) {
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) => <New kind={kind} kinds={kinds} namespace={namespace} />}
    </OfKind>
  );
}

interface NewProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace: string | undefined;
}

function New({ kind, kinds, namespace }: NewProps) {
  const right: Right = { verb: 'create', group: kind.group, resource: kind.resource, ...(namespace && { namespace }) };
  useRights([right]);
  return (
    <Guarded right={right} title={t('cluster.new', { kind: kind.kind })}>
      <NewObject kind={kind} kinds={kinds} namespace={namespace} />
    </Guarded>
  );
}

function NewObject({ kind, kinds, namespace }: NewProps) {
  const yaml = useLoad('editors/editor', () => import('../../../editors/editor')).data.value;
  const list = pageOf(kind, { namespace });
  const required = useRequired(kind);
  return (
    <section class="page fill">
      <p class="crumb">
        <a href={href(list)}>{kind.title}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{t('cluster.new', { kind: kind.kind })}</h1>
      </header>
      {yaml === undefined || required === undefined ? (
        <Skeleton rows={12} />
      ) : (
        <Edit
          kind={kind}
          text={yaml.stringify(sampleOf({ ...kind, namespace }, required))}
          kinds={kinds}
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

/** Returns the required members by the cluster's own schema; none if it cannot be read. Undefined until it is known. */
function useRequired(kind: Kind): object | undefined {
  const isAsked = !hasSample(kind.group, kind.kind);
  const load = useLoad(isAsked ? `schema/${kind.group}/${kind.version}/${kind.kind}` : undefined, async () => {
    const schemas = await fetchSchemas(kind);
    return schemas ? requiredOf(schemas.root, schemas.resolve) : {};
  });
  return isAsked && !load.error.value ? load.data.value : {};
}
