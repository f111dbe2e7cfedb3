import { accessRuleList, accessSubjectList } from '../../../src/explorer/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';
import { aBinding } from '../access/objects.ts';

export const subjects = '/auth/v1/accesssubjects';
export const rules = '/auth/v1/accessrules';

type Asking = Parameters<TestServer['request']>[1];

export async function whoCan(server: TestServer, query: string, asking: Asking = { as: 'manager' }) {
  const response = await server.request(`${subjects}?${query}`, asking);
  if (response.status !== 200) throw new Error(await response.text());
  return accessSubjectList.parse(await response.json());
}

export async function rulesOf(server: TestServer, query: string, asking: Asking = { as: 'manager' }) {
  const response = await server.request(`${rules}?${query}`, asking);
  if (response.status !== 200) throw new Error(await response.text());
  return accessRuleList.parse(await response.json());
}

/** Binds the role of the explorer to the manager, and waits until the service answers. */
export async function letManagerExplore(server: TestServer): Promise<void> {
  await server.kubernetes.apply(aBinding('manager-explores', { role: 'atrium-access-explorer', to: 'User:manager' }));
  await eventually(
    () => server.request(`${rules}?group=any`, { as: 'manager' }),
    ({ status }) => status === 200,
  );
  await eventually(
    () => rulesOf(server, 'group=any'),
    ({ complete }) => complete,
  );
}

export const simulations = '/auth/v1/simulations';
