import type { ResourceType } from '../../kubernetes/resource.ts';
import type { ResourceKind } from '../../kubernetes/resource-client.ts';

/** Custom resource User, defined in deploy/manifests. */
export const userResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'users' };

export const userKind: ResourceKind = { type: userResource, kind: 'User' };

export const userApiVersion = `${userResource.group}/${userResource.version}`;
