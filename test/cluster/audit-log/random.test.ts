/**
 * Random requests at the door of a service on a real kube-apiserver, whose own audit log tells what came through. `AUDIT_STEPS=20000` makes
 * a long run, and `AUDIT_SEED` plays one again.
 */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { auditEventList } from '../../../src/activity/schema.ts';
import { withAuditStore } from '../../service/audit-store/installation.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import { AuditLog } from './audit-log.ts';

const steps = Number(process.env.AUDIT_STEPS ?? '400');
const seed = Number(process.env.AUDIT_SEED ?? Math.floor(Math.random() * 1_000_000));
/** Requests at a time. */
const senders = 4;
const line = z.object({
  auditID: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  responseStatus: z.object({ code: z.int() }).optional(),
});

describe(`random requests at the door (AUDIT_SEED=${seed})`, function () {
  this.timeout(0);
  const service = forSuite(async () => {
    const started = await withAuditStore({
      isReused: false,
      objects: [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
        clusterRoleBinding('editor', 'edit', { kind: 'User', name: 'alice' }),
        clusterRoleBinding('reader', 'view', { kind: 'User', name: 'bob' }),
      ],
    });
    await started.startStore();
    return started;
  });

  /** Returns the ids of all events of the door. */
  async function stored(): Promise<Set<string>> {
    const found = new Set<string>();
    for (let next: string | undefined = ''; next !== undefined; ) {
      const query = new URLSearchParams({ source: 'door', limit: '500', ...(next && { continue: next }) });
      const response = await service.request(`/auth/v1/audit?${query}`, { as: 'admin' });
      expect(response.status).to.equal(200);
      const { items, metadata } = auditEventList.parse(await response.json());
      for (const { auditID } of items) found.add(auditID);
      next = metadata.continue;
    }
    return found;
  }

  it(`leave an event for each of ${steps} that the API server tells`, async () => {
    const random = randomNumbers(seed);
    const oneOf = <T>(values: readonly [T, ...T[]]): T => values[Math.floor(random() * values.length)] ?? values[0];
    const name = () => oneOf(['a', 'b', 'c', 'x'.repeat(253), 'Not%20A%20Name', '%E2%80%AEtxt', '']);
    const request = () => {
      const namespace = oneOf(['default', 'shop', 'none']);
      const resource = oneOf(['configmaps', 'secrets', 'serviceaccounts', 'pods', 'nothings']);
      const named = name();
      const path = oneOf([
        `/api/v1/namespaces/${namespace}/${resource}${named && `/${named}`}`,
        `/apis/rbac.authorization.k8s.io/v1/clusterroles${named && `/${named}`}`,
        `/apis/apps/v1/namespaces/${namespace}/deployments/${named || 'a'}/scale`,
        `/api/v1/namespaces/${namespace}/pods/${named || 'a'}/${oneOf(['exec', 'log', 'eviction', 'portforward'])}?command=ls`,
      ]);
      const method = oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
      const kind = { configmaps: 'ConfigMap', secrets: 'Secret' }[resource as string] ?? 'ConfigMap';
      const body = oneOf<unknown>([
        { apiVersion: 'v1', kind, metadata: { name: oneOf(['a', 'b', 'c']) } },
        { apiVersion: 'v1', kind, metadata: { generateName: 'some-' } },
        { data: { a: String(random()) } },
        'no JSON',
        { apiVersion: 'v1', kind, metadata: { name: 'a' }, data: { a: 'x'.repeat(20_000) } },
      ]);
      return {
        path: `/api/kubernetes${path}${random() < 0.1 ? `${path.includes('?') ? '&' : '?'}dryRun=All` : ''}`,
        method,
        ...(method !== 'GET' && { body }),
        as: oneOf(['admin', 'alice', 'bob', 'carol'] as const),
        isAborted: random() < 0.05,
        agent: oneOf(['kubectl', '"},{"x":"', '<script>', '=1+1']),
      };
    };
    let left = steps;
    const send = async () => {
      while (left > 0) {
        left -= 1;
        const { path, isAborted, agent, ...rest } = request();
        const type = rest.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
        const leaving = new AbortController();
        const answered = service.request(path, { ...rest, signal: leaving.signal, headers: { 'content-type': type, 'user-agent': agent } });
        if (isAborted) setImmediate(() => leaving.abort());
        // A caller that has left gets no answer.
        await answered.then((response) => response.arrayBuffer()).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: senders }, send));

    const log = new AuditLog(service.auditLog ?? '', service.kubernetes);
    await log.text();
    const told = (await readFile(service.auditLog ?? '', 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((text) => line.parse(JSON.parse(text)))
      .filter(({ auditID }) => auditID.startsWith('atrium-'));
    const missing = (ids: ReadonlySet<string>) => told.filter(({ auditID }) => !ids.has(auditID.slice('atrium-'.length)));
    const ids = await eventually(stored, (found) => missing(found).length === 0);
    expect(missing(ids)).to.deep.equal([]);
    expect(told.length).to.be.greaterThan(steps / 4);
    console.log(`      ${steps} requests, ${told.length} told by the API server, ${ids.size} events of the door, 0 missing`);
  });
});
