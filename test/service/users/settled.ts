import { eventually } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';
import { nameOf } from './a-user.ts';

interface Shown {
  metadata?: { generation?: number };
  status?: { observedGeneration?: number; conditions?: unknown };
}

/**
 * Waits until the service shows the states that the controller has written for those users, half a second after their creation. They stay
 * unchanged unless a test changes them.
 */
export async function untilSettled(server: Pick<TestServer, 'request'>, emails: readonly string[]): Promise<void> {
  for (const email of emails)
    await eventually(
      async () => (await (await server.request(`/auth/v1/users/${nameOf(email)}`, { as: 'admin' })).json()) as Shown,
      ({ metadata, status }) => status?.conditions !== undefined && status.observedGeneration === metadata?.generation,
    );
}
