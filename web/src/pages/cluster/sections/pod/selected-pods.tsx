import { t } from '../../../../text/text';
import { Skeleton } from '../../../../ui/state';
import { RelatedTable } from '../related/related-table';
import type { Section, SectionProps } from '../section';
import { selectedLabels } from '../selector';
import { useOwnPods } from './own-pods';
import { controlsPods } from './pod-owner';
import { PodTroubles } from './pod-troubles';

function Pods({ kind, kinds, object }: SectionProps) {
  const pods = kinds.find(({ group, resource }) => group === '' && resource === 'pods');
  const isOwn = useOwnPods(kind, object);
  if (pods === undefined) return null;
  if (isOwn === undefined) return <Skeleton rows={3} />;
  return (
    <RelatedTable
      kinds={kinds}
      kind={pods}
      namespace={object.metadata.namespace}
      selection={{ labelSelector: selectedLabels(object) }}
      isOwn={controlsPods(kind) ? isOwn : undefined}
      label={t('object.pods')}
      Above={PodTroubles}
    />
  );
}

/** The pods that a workload controls, or that the selector of another object finds. */
export const selectedPods: Section = { title: 'object.pods', isShown: (object) => selectedLabels(object) !== '', View: Pods };
