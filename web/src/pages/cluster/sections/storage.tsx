import { t } from '../../../text/text';
import { Facts } from '../../../ui/facts';
import { ObjectLink } from './object-link';
import type { Section, SectionProps } from './sections';

interface ClaimSpec {
  accessModes?: readonly string[];
  resources?: { requests?: { storage?: string } };
  storageClassName?: string;
  volumeName?: string;
  volumeMode?: string;
}

interface ClaimStatus {
  accessModes?: readonly string[];
  capacity?: { storage?: string };
}

function Claim({ kinds, object }: SectionProps) {
  const { accessModes, resources, storageClassName, volumeName, volumeMode } = (object.spec ?? {}) as ClaimSpec;
  const { capacity, accessModes: bound } = (object.status ?? {}) as ClaimStatus;
  return (
    <Facts
      of={[
        [t('storage.requested'), resources?.requests?.storage],
        [t('storage.capacity'), capacity?.storage ?? t('storage.unbound')],
        [t('storage.modes'), (bound ?? accessModes)?.join(', ')],
        [t('storage.volumeMode'), volumeMode],
        [
          t('storage.class'),
          storageClassName && <ObjectLink key="class" {...{ kinds, name: storageClassName }} group="storage.k8s.io" kind="StorageClass" />,
        ],
        [t('storage.volume'), volumeName && <ObjectLink key="volume" {...{ kinds, name: volumeName }} kind="PersistentVolume" />],
      ]}
    />
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = { persistentvolumeclaims: [{ View: Claim }] };
