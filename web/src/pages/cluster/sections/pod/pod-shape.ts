import type { ClusterObject, Metadata, OwnerReference } from '../../../../api/object-types.ts';

/** The members of a Pod that pure functions of these pages read. */
export interface Pod extends Pick<ClusterObject, 'spec' | 'status'> {
  metadata: Pick<Metadata, 'name' | 'namespace' | 'uid' | 'annotations'> & {
    ownerReferences?: readonly Pick<OwnerReference, 'kind' | 'controller'>[];
  };
}
