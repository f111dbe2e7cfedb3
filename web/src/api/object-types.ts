/** The shape of Kubernetes objects, without imports: tests outside of the browser load modules that need no more. */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface Metadata {
  name: string;
  namespace?: string;
  /** Missing in objects that an aggregated API computes, such as metrics. */
  uid?: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  managedFields?: unknown[];
  ownerReferences?: OwnerReference[];
}

export interface ClusterObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [member: string]: unknown;
}

/** `deployments.apps`, as kubectl writes it. */
export const kindId = ({ group, resource }: { group: string; resource: string }): string => (group ? `${resource}.${group}` : resource);
