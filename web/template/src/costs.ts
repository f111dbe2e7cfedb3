import type { Context } from '../atrium-console';

export interface Group {
  metadata: { name: string };
  spec: { displayName?: string; users?: { name: string }[] };
}

/** Euros a month. */
export const pricePerMember = 29;

/** @throws Error with what the service says */
export async function fetchGroups(api: Context['api'], signal: AbortSignal): Promise<Group[]> {
  const response = await api.fetch('/auth/v1/groups?limit=1000', { signal });
  const body = (await response.json()) as { items: Group[]; message?: string };
  if (!response.ok) throw new Error(body.message ?? `HTTP ${response.status}`);
  return body.items;
}
