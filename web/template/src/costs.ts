import type { Context } from '../atrium-console';

export interface Group {
  metadata: { name: string };
  spec: { displayName?: string; users?: { name: string }[] };
}

/** Euros a month. */
export const pricePerMember = 29;

export const membersOf = ({ spec }: Group): number => spec.users?.length ?? 0;
export const costOf = (group: Group): number => membersOf(group) * pricePerMember;

/** @throws Error with the message of the service */
export async function fetchGroups(api: Context['api'], signal: AbortSignal): Promise<Group[]> {
  const { items } = await api.json<{ items: Group[] }>('/auth/v1/groups?limit=1000', { signal });
  return items;
}
