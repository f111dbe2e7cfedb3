/** Sections of the page of an object by its kind. A kind is one entry here, and a list of sections in the file of its family. */

import './sections.css';
import { type Kind, kindId } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { t } from '../../../text/text';
import { Loaded } from '../../../ui/loaded';
import { otherKinds } from './other-kinds';
import type { Section, SectionProps } from './section';

type Family = () => Promise<{ sections: Readonly<Record<string, readonly Section[]>> }>;

const workload: Family = () => import('./workload/workload');
const rbac: Family = () => import('./rbac/rbac');
const network: Family = () => import('./network/network');
const gateway: Family = () => import('./network/gateway');
const storage: Family = () => import('./storage/storage');
const limits: Family = () => import('./limits/limits');
const data: Family = () => import('./data/data');
const batch: Family = () => import('./batch/batch');
const anyKind: Family = () => import('./any-kind/any-kind');

/** Families by kind, as kubectl names it. Each is loaded with the first page of one of its kinds. */
const families: Readonly<Record<string, Family>> = {
  pods: () => import('./pod/pod'),
  nodes: () => import('./node/node'),
  namespaces: () => import('./namespace/namespace'),
  services: network,
  'endpointslices.discovery.k8s.io': network,
  'ingresses.networking.k8s.io': network,
  'ingressclasses.networking.k8s.io': network,
  'networkpolicies.networking.k8s.io': network,
  'gateways.gateway.networking.k8s.io': gateway,
  'gatewayclasses.gateway.networking.k8s.io': gateway,
  'httproutes.gateway.networking.k8s.io': gateway,
  persistentvolumeclaims: storage,
  persistentvolumes: storage,
  'storageclasses.storage.k8s.io': storage,
  resourcequotas: limits,
  limitranges: limits,
  'horizontalpodautoscalers.autoscaling': limits,
  'poddisruptionbudgets.policy': limits,
  'priorityclasses.scheduling.k8s.io': limits,
  'leases.coordination.k8s.io': limits,
  'certificatesigningrequests.certificates.k8s.io': () => import('./certificates/certificate-requests'),
  serviceaccounts: rbac,
  'rolebindings.rbac.authorization.k8s.io': rbac,
  'clusterrolebindings.rbac.authorization.k8s.io': rbac,
  configmaps: data,
  secrets: data,
  'roles.rbac.authorization.k8s.io': rbac,
  'clusterroles.rbac.authorization.k8s.io': rbac,
  'deployments.apps': workload,
  'replicasets.apps': workload,
  'statefulsets.apps': workload,
  'daemonsets.apps': workload,
  'jobs.batch': batch,
  'cronjobs.batch': batch,
  'customresourcedefinitions.apiextensions.k8s.io': () => import('./definition/definition'),
};

export const hasSections = (kind: Kind): boolean => Object.hasOwn(families, kindId(kind));

function familyOf(kind: Pick<Kind, 'group' | 'resource'>): { id: string; family: Family } {
  const id = kindId(kind);
  const family = Object.hasOwn(families, id) ? families[id] : undefined;
  return { id: family ? id : otherKinds, family: family ?? anyKind };
}

/** Begins to load the sections of a kind. */
export const loadSections = (kind: Pick<Kind, 'group' | 'resource'>): void =>
  void familyOf(kind)
    .family()
    .catch(() => undefined);

export const Sections = (props: SectionProps) => <FamilySections {...props} {...familyOf(props.kind)} />;

function FamilySections({ id, family, ...props }: SectionProps & { id: string; family: Family }) {
  const load = useLoad(`sections/${id}`, family);
  return (
    <Loaded load={load}>
      {({ sections }) =>
        (sections[id] ?? [])
          .filter(({ isShown }) => isShown === undefined || isShown(props.object))
          .map((section, index) => <OneSection key={section.title ?? index} {...props} of={section} />)
      }
    </Loaded>
  );
}

export const OneSection = ({ of: { title, View }, ...props }: SectionProps & { of: Section }) => (
  <section class="kind-section" {...(title && { 'aria-label': t(title) })}>
    {title && <h2>{t(title)}</h2>}
    <View {...props} />
  </section>
);
