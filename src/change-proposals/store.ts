import { hash, randomBytes } from 'node:crypto';
import type { Seal } from '@atrium/http/seal.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Sweep } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { type Proposal, type Proposed, proposalApiVersion, proposalKind, proposed } from './schema.ts';

/** Time for which the user sees what became of a proposal. */
const keptMs = 3_600_000;
const maxPerRun = 500;
const userLabel = 'auth.platform.io/user-hash';

const stored = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  spec: z.object({ sealed: z.string() }),
  status: z.object({ phase: z.enum(['Confirmed', 'Rejected']).optional() }).default({}),
});

export const newProposalName = (): string => `cp-${randomBytes(16).toString('hex')}`;

/** Returns a value of a label: names of users have other characters, and are longer. */
const labelOf = (user: string): string => hash('sha256', user).slice(0, 40);

/**
 * Reads and writes ChangeProposals with the service account. Their facts are sealed with their name, so that a proposal that is made or
 * changed at the API server does not exist.
 */
export class ProposalStore {
  readonly #objects: ServiceResource;
  readonly #services: Pick<Services, 'namespace' | 'now'>;
  readonly #seal: Seal;

  constructor(services: Services) {
    this.#services = services;
    this.#objects = new ServiceResource(services.client, { ...proposalKind, namespace: services.namespace });
    this.#seal = services.keyRing.sealFor('change proposals');
  }

  /** @throws StatusError 503, 504 */
  async create(proposal: Proposed, signal: AbortSignal): Promise<void> {
    const { name, user, cluster, agent, object, verb, reason, expiresAt } = proposal;
    const created = await this.#objects.create(
      {
        apiVersion: proposalApiVersion,
        kind: proposalKind.kind,
        metadata: { name, namespace: this.#services.namespace, labels: { [userLabel]: labelOf(user) } },
        spec: {
          user,
          cluster,
          agent,
          object,
          verb,
          reason,
          expiration: timestamp(new Date(expiresAt)),
          sealed: this.#seal.seal(JSON.stringify(proposal)),
        },
      },
      { signal },
    );
    if (created === 'conflict') throw serviceUnavailable('kubernetes', { cause: new Error('the name of a proposal is taken') });
  }

  /** Lists the proposals for a user, newest first. @throws StatusError 503, 504 */
  async list(user: string, signal: AbortSignal): Promise<Proposal[]> {
    const found: Proposal[] = [];
    for await (const object of this.#objects.list({ labelSelector: `${userLabel}=${labelOf(user)}` }, signal)) {
      const proposal = await this.#opened(object);
      if (proposal?.user === user) found.push(proposal);
    }
    return found.sort((one, other) => other.createdAt - one.createdAt);
  }

  /** @returns undefined if the user has no such proposal; @throws StatusError 503, 504 */
  async find(name: string, user: string, signal: AbortSignal): Promise<Proposal | undefined> {
    const object = await this.#objects.get(name, signal);
    const proposal = object && (await this.#opened(object));
    return proposal?.user === user ? proposal : undefined;
  }

  /** Notes what the user has decided. @throws StatusError 503, 504 */
  async decide({ name }: Proposal, phase: 'Confirmed' | 'Rejected', signal: AbortSignal): Promise<void> {
    const decidedTime = timestamp(this.#services.now());
    // The event of a confirmation tells the change itself.
    await this.#objects.patchStatus(name, { status: { phase, decidedTime } }, { signal, isAudited: phase === 'Rejected' });
  }

  /** Deletes proposals some time after their end. */
  sweep(): Sweep {
    return {
      what: 'change proposals',
      everyMs: 300_000,
      sweep: async (signal) => {
        const before = this.#services.now().getTime() - keptMs;
        let deleted = 0;
        for await (const { metadata } of this.#objects.list({ isMetadataOnly: true }, signal)) {
          if (Date.parse(metadata.creationTimestamp ?? '') >= before) continue;
          if (await this.#objects.remove(metadata.name, { signal })) deleted += 1;
          if (deleted === maxPerRun) break;
        }
        return deleted;
      },
    };
  }

  async #opened(object: KubernetesObject): Promise<Proposal | undefined> {
    const { data } = stored.safeParse(object);
    const text = data && (await this.#seal.open(data.spec.sealed));
    const facts = text === undefined ? undefined : proposed.safeParse(JSON.parse(text)).data;
    return facts?.name === data?.metadata.name && facts !== undefined ? { ...facts, decision: data?.status.phase } : undefined;
  }
}
