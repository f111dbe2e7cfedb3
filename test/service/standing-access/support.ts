import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { standingList } from '../../../src/standing-access/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule } from '../access/objects.ts';

export const dayMs = 86_400_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();

export const anEvent = (auditID: string, username: string, parts: Partial<AuditEvent> = {}): AuditEvent => ({
  ...{ auditID, cluster: 'local', source: 'door', verb: 'delete', user: { username }, sourceIPs: [], outcome: 'success' },
  objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'web' },
  requestReceivedTimestamp: new Date(Date.now() + 1000).toISOString(),
  ...parts,
});

/** An event since which the audit goes back for all questions. */
export const firstEvent = () => anEvent('first', 'somewhere@example.com', { requestReceivedTimestamp: daysAgo(400) });

/** Newer events than any other of the user, more than the first question about a user gets. */
export const newerEvents = (username: string, count = 60): AuditEvent[] =>
  Array.from({ length: count }, (_, index) =>
    anEvent(`newer-${username}-${index}`, username, {
      objectRef: { apiGroup: 'example.com', resource: 'others', namespace: 'elsewhere', name: 'one' },
      requestReceivedTimestamp: new Date(Date.now() + 60_000 + index).toISOString(),
    }),
  );

const auditors = aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]);

/** Bindings of a manager who may ask for standing access. */
export const forManager = [
  auditors,
  aBinding('auditor', { role: 'auditors', to: 'User:manager' }),
  aBinding('explorer', { role: 'atrium-access-explorer', to: 'User:manager' }),
];

export async function withStore(store?: (kept: SqliteStore) => SqliteStore, config?: Record<string, unknown>) {
  const kept = await SqliteStore.open(':memory:');
  const server = await startServer({ auditStore: store?.(kept) ?? kept, ...(config && { config }) });
  await server.kubernetes.apply(
    aNamespace('shop'),
    aNamespace('vault'),
    ...forManager,
    aRole('restarts', [{ apiGroups: [''], resources: ['pods', 'configmaps'], verbs: ['delete'] }]),
    aRole('reads', [podRule(['get', 'list'])]),
  );
  const stop = async () => {
    await server.stop();
    await kept.stop();
  };
  return { ...server, kept, stop };
}

export async function standing(server: TestServer, query = '', as: Person = 'manager') {
  const response = await server.request(`/auth/v1/standingaccess?limit=50${query}`, { as });
  if (response.status !== 200) throw new Error(await response.text());
  return standingList.parse(await response.json());
}

export const itemOf = async (server: TestServer, name: string, query = '') =>
  (await standing(server, `&name=${name}${query}`)).items.find(({ binding }) => binding.name === name);

/** Waits until the service answers, and knows bindings. */
export const until = (server: TestServer, ...names: string[]) =>
  eventually(
    async () => {
      const known: string[] = [];
      for (const name of names) {
        const response = await server.request(`/auth/v1/standingaccess?name=${name}`, { as: 'manager' });
        const json: unknown = await response.json();
        if (response.status === 200) known.push(...standingList.parse(json).items.map(({ binding }) => binding.name));
      }
      return known;
    },
    (known) => names.every((name) => known.includes(name)),
  );
