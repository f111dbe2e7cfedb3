import { type Kind, pageOf } from '../../../api/kinds';
import type { ClusterObject, Metadata } from '../../../api/objects';
import { href } from '../../../app/router';
import { dateTime, t } from '../../../text/text';
import { Ago } from '../../../ui/age';
import { labelChips } from '../../../ui/chips';
import { Facts } from '../../../ui/facts';
import { allConditions } from '../sections/conditions/condition-table';
import { ObjectLink } from '../sections/object-link';
import type { SectionProps } from '../sections/section';
import { hasSections, OneSection, Sections } from '../sections/sections';
import { selectedLabels } from '../sections/selector';

export function Summary({ kind, kinds, object }: SectionProps) {
  const { metadata } = object;
  return (
    <>
      <Sections kind={kind} kinds={kinds} object={object} />
      {hasSections(kind) && allConditions.isShown?.(object) && <OneSection {...{ kind, kinds, object }} of={allConditions} />}
      <Facts
        of={[
          [
            t('cluster.namespace'),
            metadata.namespace && <ObjectLink key="namespace" kinds={kinds} kind="Namespace" name={metadata.namespace} />,
          ],
          [t('cluster.created'), <Ago key="created" since={metadata.creationTimestamp} />],
          [t('cluster.deleting'), metadata.deletionTimestamp && dateTime(metadata.deletionTimestamp)],
          [t('cluster.owners'), ownersOf(metadata, kinds)],
          [t('cluster.owned'), hasSections(kind) ? undefined : podsOf(object, kinds)],
          [t('cluster.labels'), labelChips(metadata.labels)],
          [t('cluster.annotations'), annotationsOf(metadata)],
          [t('cluster.finalizers'), metadata.finalizers?.join(', ')],
          ['UID', metadata.uid && <code key="uid">{metadata.uid}</code>],
        ]}
      />
    </>
  );
}

function ownersOf({ ownerReferences = [], namespace }: Metadata, kinds: readonly Kind[]) {
  if (ownerReferences.length === 0) return undefined;
  return (
    <ul>
      {ownerReferences.map((owner) => {
        const [version = '', group = ''] = owner.apiVersion.split('/').reverse();
        const kind = kinds.find((one) => one.kind === owner.kind && one.group === group && one.version === version);
        const text = `${owner.kind} ${owner.name}`;
        const place = { name: owner.name, ...(kind?.isNamespaced && { namespace }) };
        return <li key={owner.uid}>{kind ? <a href={href(pageOf(kind, place))}>{text}</a> : text}</li>;
      })}
    </ul>
  );
}

/** Link to the pods that an object selects, for kinds without a section that lists them. */
function podsOf(object: ClusterObject, kinds: readonly Kind[]) {
  const { namespace } = object.metadata;
  const labels = selectedLabels(object);
  const pods = kinds.find(({ group, resource }) => group === '' && resource === 'pods');
  if (labels === '' || pods === undefined || namespace === undefined) return undefined;
  return <a href={href(`${pageOf(pods, { namespace })}?${new URLSearchParams({ selector: labels })}`)}>{t('cluster.itsPods')}</a>;
}

function annotationsOf({ annotations = {} }: Metadata) {
  const entries = Object.entries(annotations).filter(([name]) => name !== 'kubectl.kubernetes.io/last-applied-configuration');
  if (entries.length === 0) return undefined;
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li key={name}>
          <code>{name}</code> <span class="muted">{value.slice(0, 256)}</span>
        </li>
      ))}
    </ul>
  );
}
