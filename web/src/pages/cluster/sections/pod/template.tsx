/** The template of the pods of a workload, Job or CronJob. */

import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { labelChips } from '../../../../ui/chips';
import { Facts } from '../../../../ui/facts';
import { ObjectLink } from '../object-link';
import type { Section, SectionProps } from '../section';
import { TemplateContainers } from './containers-view';
import { tolerations, volumes } from './pod-parts';

type PodSpec = NonNullable<ClusterObject['spec']>;

interface ClaimTemplate {
  metadata?: { name?: string };
  spec?: { storageClassName?: string; resources?: { requests?: { storage?: string } } };
}

interface TemplateHolder {
  template?: { spec?: PodSpec };
  jobTemplate?: { spec?: TemplateHolder };
  volumeClaimTemplates?: readonly ClaimTemplate[];
}

/** Returns the pod that a template makes, without a name. Claim templates become volumes. */
function templatePod({ metadata: { labels, annotations, ...place }, spec }: ClusterObject): ClusterObject {
  const { jobTemplate, template, volumeClaimTemplates: claims = [] } = (spec ?? {}) as TemplateHolder;
  const own = (jobTemplate?.spec?.template ?? template)?.spec ?? {};
  const claimed = claims.map(({ metadata, spec: claim }) => ({
    name: metadata?.name ?? '',
    volumeClaimTemplate: { storage: claim?.resources?.requests?.storage, storageClassName: claim?.storageClassName },
  }));
  const held = Array.isArray(own.volumes) ? own.volumes : [];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...place, name: '' }, spec: { ...own, volumes: [...claimed, ...held] } };
}

function TemplateFacts({ kinds, object: { metadata, spec = {} } }: SectionProps) {
  const { nodeSelector, serviceAccountName, restartPolicy, priorityClassName } = spec as Record<string, unknown>;
  const account = typeof serviceAccountName === 'string' && serviceAccountName !== '' ? serviceAccountName : 'default';
  return (
    <Facts
      of={[
        [
          t('object.serviceAccount'),
          <ObjectLink key="account" kinds={kinds} kind="ServiceAccount" name={account} namespace={metadata.namespace} />,
        ],
        [t('template.nodes'), labelChips((nodeSelector as object | undefined) ?? {})],
        [t('object.priority'), typeof priorityClassName === 'string' && priorityClassName],
        [t('template.restart'), restartPolicy !== 'Always' && typeof restartPolicy === 'string' && restartPolicy],
      ]}
    />
  );
}

const ofTemplate = ({ title, isShown, View }: Section): Section => ({
  ...(title && { title }),
  ...(isShown && { isShown: (object) => isShown(templatePod(object)) }),
  View: (props) => <View {...props} object={templatePod(props.object)} />,
});

const parts: readonly Section[] = [
  { title: 'template.title', View: TemplateFacts },
  { title: 'object.containers', View: TemplateContainers },
  volumes,
  tolerations,
];

/** Sections of a kind whose objects have a template of pods. */
export const templateSections: readonly Section[] = parts.map(ofTemplate);
