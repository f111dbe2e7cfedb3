import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { eventually } from '../../support/cluster-admin.ts';
import { isAllowed, question, reviews } from './callers.ts';
import { type Installation, type TokenHolder, tokenHolders } from './installation.ts';
import type { Replica } from './replica.ts';

const pauseMs = 50;
/** Duration of the observation after a revocation. Some observations are longer. */
const lookMs = 1_500;
const longLookMs = 6_500;
const longLookEvery = 10;

const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const nameOf = (person: TokenHolder) => `${person}-looks-at-users`;

/** Milliseconds from the confirmed deletion of a binding to the last request that was still allowed. */
export interface Revocation {
  person: TokenHolder;
  /** Maximum of all. */
  lastYesMs: number;
  reviewMs: number;
  listMs: number;
}

/** Revokes the right to list users of one caller after the other, and polls both replicas. */
export class Revocations {
  readonly #installation: Installation;
  readonly #agent = new Agent();

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** @param n selects the caller, and the duration of the observation */
  async one(n: number): Promise<Revocation> {
    const person = tokenHolders[n % tokenHolders.length] ?? 'alice';
    await this.grant(person);
    const asked = this.#installation.replicas.flatMap((replica) => [
      { kind: 'review' as const, ask: () => this.mayReview(replica, person) },
      { kind: 'list' as const, ask: () => this.mayList(replica, person) },
    ]);
    for (const { ask } of asked) await eventually(ask, (isYes) => isYes);
    await this.revoke(person);
    const begun = performance.now();
    const until = begun + (n % longLookEvery === 0 ? longLookMs : lookMs);
    const last = { review: 0, list: 0 };
    await Promise.all(
      asked.map(async ({ kind, ask }) => {
        for (let isYes = true; isYes || performance.now() < until; await sleep(pauseMs)) {
          const askedAt = performance.now() - begun;
          isYes = await ask();
          if (isYes) last[kind] = Math.max(last[kind], askedAt);
          if (performance.now() - begun > 30_000) throw new Error(`${person} may still ${kind} after 30 s`);
        }
      }),
    );
    return { person, lastYesMs: Math.max(last.review, last.list), reviewMs: last.review, listMs: last.list };
  }

  async grant(person: TokenHolder): Promise<void> {
    await this.#installation.admin.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: nameOf(person) },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    });
  }

  revoke(person: TokenHolder): Promise<void> {
    return this.#installation.admin.remove(`${bindings}/${nameOf(person)}`);
  }

  async mayReview(replica: Replica, person: TokenHolder): Promise<boolean> {
    const body = JSON.stringify(question({ group: 'auth.platform.io', resource: 'users', verb: 'list' }));
    const { status, text } = await this.#send(replica, person, { method: 'POST', path: reviews, body });
    if (status !== 201) throw new Error(`review: ${status} ${text}`);
    return isAllowed(text);
  }

  async mayList(replica: Replica, person: TokenHolder): Promise<boolean> {
    const { status, text } = await this.#send(replica, person, { method: 'GET', path: '/auth/v2/users?limit=1' });
    if (status !== 200 && status !== 403) throw new Error(`list: ${status} ${text}`);
    return status === 200;
  }

  async #send(
    replica: Replica,
    person: TokenHolder,
    { path, ...options }: { method: 'GET' | 'POST'; path: string; body?: string },
  ): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${this.#installation.token(person)}`, 'content-type': 'application/json' };
    const { statusCode, body } = await request(`${replica.url}${path}`, { ...options, headers, dispatcher: this.#agent });
    return { status: statusCode, text: await body.text() };
  }
}
