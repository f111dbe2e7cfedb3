import { t } from '../../../text/text';
import { PodTroubles } from './pod-troubles';
import { RelatedTable } from './related-table';
import type { Section, SectionProps } from './section';
import { selectedLabels } from './selector';

function Pods({ kinds, object }: SectionProps) {
  const pods = kinds.find(({ group, resource }) => group === '' && resource === 'pods');
  if (pods === undefined) return null;
  return (
    <RelatedTable
      kinds={kinds}
      kind={pods}
      namespace={object.metadata.namespace}
      selection={{ labelSelector: selectedLabels(object) }}
      label={t('object.pods')}
      Above={PodTroubles}
    />
  );
}

/** The pods that the selector of an object finds. */
export const selectedPods: Section = { title: 'object.pods', isShown: (object) => selectedLabels(object) !== '', View: Pods };
