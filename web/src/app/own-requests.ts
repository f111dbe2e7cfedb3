/** Access requests that concern the user: the user's own open ones, and those that wait for the user. The shell keeps them current. */
import { signal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../api/client';
import { refetch } from '../api/load';
import { t } from '../text/text';

export type AccessRequest = Schemas['AccessRequest'];

export const ownRequests = signal<readonly AccessRequest[]>([]);
export const inbox = signal<readonly AccessRequest[]>([]);

export const isActive = ({ status }: AccessRequest): boolean => status?.phase === 'Active';

export const isUnreviewed = ({ spec, status }: AccessRequest): boolean => spec.breakGlass === true && status?.review === undefined;

export const placeOf = ({ spec: { scope, namespaces = [] } }: Pick<AccessRequest, 'spec'>): string =>
  scope === 'platform' ? t('roles.everywhere') : namespaces.join(', ');

/** Withdraws a request or ends its access. Resolves once the RBAC is gone. */
export async function endRequest(name: string): Promise<void> {
  await bodyOf(api.POST('/auth/v1/accessrequests/{name}/end', { params: { path: { name } } }));
  await refetch('requests');
}
