import { objectState } from '@atrium/objects/object-state.ts';
import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { Notice } from '../../../../ui/state';
import { StateView } from '../../cells';
import { usedBy } from '../chain/used-by';
import { problems } from '../conditions/condition-notices';
import { ObjectLink } from '../object-link';
import { RelatedObjects } from '../related/related-objects';
import type { Section, SectionProps } from '../section';
import { warnings } from '../warnings';
import { sourceOf } from './volumes';

interface ClaimSpec {
  accessModes?: readonly string[];
  resources?: { requests?: { storage?: string } };
  storageClassName?: string;
  volumeName?: string;
  volumeMode?: string;
  dataSourceRef?: { apiGroup?: string; kind: string; name: string; namespace?: string };
}

interface ClaimStatus {
  accessModes?: readonly string[];
  capacity?: { storage?: string };
}

const ClassLink = ({ kinds, name }: { kinds: SectionProps['kinds']; name: string | undefined }) =>
  name ? <ObjectLink {...{ kinds, name }} group="storage.k8s.io" kind="StorageClass" /> : null;

function Claim({ kinds, object }: SectionProps) {
  const { accessModes, resources, storageClassName, volumeName, volumeMode, dataSourceRef: source } = (object.spec ?? {}) as ClaimSpec;
  const { capacity, accessModes: bound } = (object.status ?? {}) as ClaimStatus;
  const { namespace } = object.metadata;
  return (
    <Facts
      of={[
        [t('storage.requested'), resources?.requests?.storage],
        [t('storage.capacity'), capacity?.storage ?? t('storage.unbound')],
        [t('storage.modes'), (bound ?? accessModes)?.join(', ')],
        [t('storage.volumeMode'), volumeMode],
        [t('storage.class'), storageClassName && <ClassLink key="class" {...{ kinds, name: storageClassName }} />],
        [t('storage.volume'), volumeName && <ObjectLink key="volume" {...{ kinds, name: volumeName }} kind="PersistentVolume" />],
        [t('storage.filledFrom'), source && <ObjectLink key="source" {...{ kinds, namespace, ...source, group: source.apiGroup ?? '' }} />],
      ]}
    />
  );
}

interface VolumeSpec extends Record<string, unknown> {
  accessModes?: readonly string[];
  capacity?: { storage?: string };
  claimRef?: { namespace?: string; name: string };
  mountOptions?: readonly string[];
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  volumeMode?: string;
}

const volumeOf = ({ spec }: ClusterObject): VolumeSpec => (spec ?? {}) as VolumeSpec;

function Volume({ kinds, object }: SectionProps) {
  const { accessModes, capacity, claimRef, mountOptions, persistentVolumeReclaimPolicy, storageClassName, volumeMode } = volumeOf(object);
  const source = sourceOf(object);
  return (
    <>
      {typeof object.status?.message === 'string' && object.status.message !== '' && <Notice>{object.status.message}</Notice>}
      <Facts
        of={[
          [t('storage.capacity'), capacity?.storage],
          [t('storage.claim'), claimRef ? <ClaimLink key="claim" {...{ kinds, claim: claimRef }} /> : t('storage.noClaim')],
          [t('storage.modes'), accessModes?.join(', ')],
          [t('storage.reclaim'), persistentVolumeReclaimPolicy],
          [t('storage.class'), storageClassName && <ClassLink key="class" {...{ kinds, name: storageClassName }} />],
          [t('storage.volumeMode'), volumeMode],
          [t('storage.source'), source && <code key="source">{source}</code>],
          [t('storage.mountOptions'), mountOptions?.join(', ')],
        ]}
      />
    </>
  );
}

const ClaimLink = ({
  kinds,
  claim: { namespace, name },
}: {
  kinds: SectionProps['kinds'];
  claim: { namespace?: string; name: string };
}) => (
  <>
    <ObjectLink {...{ kinds, namespace, name }} kind="PersistentVolumeClaim" /> <span class="muted">{namespace}</span>
  </>
);

function ClassFacts({ object }: SectionProps) {
  const { provisioner, reclaimPolicy, volumeBindingMode, allowVolumeExpansion, mountOptions, parameters = {}, metadata } = object;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const isDefault = metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true';
  return (
    <Facts
      of={[
        [t('storage.provisioner'), text(provisioner)],
        [t('net.isDefault'), t(isDefault ? 'object.yes' : 'object.no')],
        [t('storage.reclaim'), text(reclaimPolicy)],
        [t('storage.binding'), text(volumeBindingMode)],
        [t('storage.expansion'), t(allowVolumeExpansion === true ? 'object.yes' : 'object.no')],
        [t('storage.mountOptions'), Array.isArray(mountOptions) && mountOptions.join(', ')],
        [
          t('storage.parameters'),
          Object.keys(parameters as object).length > 0 && (
            <ul key="parameters">
              {Object.entries(parameters as Record<string, unknown>).map(([name, value]) => (
                <li key={name}>
                  {name} <code>{String(value)}</code>
                </li>
              ))}
            </ul>
          ),
        ],
      ]}
    />
  );
}

function ClassVolumes({ kinds, object: { metadata } }: SectionProps) {
  return (
    <RelatedObjects kinds={kinds} id="persistentvolumes">
      {(volumes, isPart) => {
        const own = volumes.filter((volume) => volumeOf(volume).storageClassName === metadata.name);
        if (own.length === 0) return isPart ? null : <p class="muted">{t('storage.noVolumes')}</p>;
        return (
          <PlainTable
            label={t('storage.volumes')}
            rows={own}
            idOf={({ metadata: { name } }) => name}
            columns={[
              { title: t('net.name'), cell: ({ metadata: { name } }) => <ObjectLink {...{ kinds, name }} kind="PersistentVolume" /> },
              { title: t('cluster.state'), cell: (volume) => <StateView of={objectState(volume)} /> },
              { title: t('storage.capacity'), cell: (volume) => volumeOf(volume).capacity?.storage },
              {
                title: t('storage.claim'),
                cell: (volume) => {
                  const { claimRef } = volumeOf(volume);
                  return claimRef && <ClaimLink {...{ kinds, claim: claimRef }} />;
                },
              },
            ]}
          />
        );
      }}
    </RelatedObjects>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  persistentvolumeclaims: [problems, warnings, { View: Claim }, usedBy],
  persistentvolumes: [{ View: Volume }],
  'storageclasses.storage.k8s.io': [{ View: ClassFacts }, { title: 'storage.volumes', View: ClassVolumes }],
};
