import { z } from 'zod';
import { StatusError } from '../api/status.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import { type ResourceType, resourcePath } from '../kubernetes/resource.ts';

const leases: ResourceType = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/** @see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/ */
const leaseObject = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .default({}),
});

/** A Lease that was read or written. */
export type FoundLease = z.output<typeof leaseObject>;

/** Holder of the Lease from now on ('' to release it), and its new annotations. */
interface Holding {
  holderIdentity: string;
  durationSeconds: number;
  annotations?: Readonly<Record<string, string>>;
}

export interface LeaseObjectOptions {
  client: ServiceClient;
  namespace: string;
  name: string;
  now: () => Date;
}

/** A Lease of the API server, read and written with the service's own account. */
export class LeaseObject {
  readonly #options: LeaseObjectOptions;

  constructor(options: LeaseObjectOptions) {
    this.#options = options;
  }

  /**
   * Reads the Lease.
   *
   * @returns undefined if it does not exist
   * @throws StatusError
   */
  async read(signal: AbortSignal): Promise<FoundLease | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      return leaseObject.parse(
        await client.request({ method: 'GET', path: resourcePath(leases, { namespace, name }), call: 'get leases', signal }),
      );
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return undefined;
      throw error;
    }
  }

  /**
   * Creates the Lease, or updates it if it has not changed since it was found.
   *
   * @returns undefined after a conflict
   * @throws StatusError
   */
  async write(found: FoundLease | undefined, holding: Holding, signal: AbortSignal): Promise<FoundLease | undefined> {
    const { client, namespace, name, now } = this.#options;
    const { holderIdentity, durationSeconds, annotations } = holding;
    const time = `${now().toISOString().replace('Z', '')}000Z`;
    const isNew = found?.spec.holderIdentity !== holderIdentity;
    const spec = {
      ...found?.spec,
      holderIdentity,
      leaseDurationSeconds: durationSeconds,
      renewTime: time,
      ...(isNew && { acquireTime: time, leaseTransitions: (found?.spec.leaseTransitions ?? -1) + 1 }),
    };
    const metadata = {
      ...found?.metadata,
      name,
      namespace,
      ...(annotations && { annotations: { ...found?.metadata.annotations, ...annotations } }),
    };
    const method = found === undefined ? 'POST' : 'PUT';
    const path = resourcePath(leases, { namespace, ...(method === 'PUT' && { name }) });
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...found, metadata, spec };
    try {
      return leaseObject.parse(
        await client.request({ method, path, body, call: `${method === 'PUT' ? 'update' : 'create'} leases`, signal }),
      );
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 409) return undefined;
      throw error;
    }
  }
}
