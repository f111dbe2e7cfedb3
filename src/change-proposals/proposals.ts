import type { Agent, Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { visibleText } from '@atrium/objects/shown-object.ts';
import { badParameter, conflict, notFound, StatusError, tooManyRequests } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditCaller } from '../audit/audit.ts';
import { directDigest, isDirect } from '../config/mcp-section.ts';
import type { OwnSince, Services } from '../services.ts';
import { requireNoAccessToken } from '../step-up/sensitive-writes.ts';
import { ProposedWrite, requireProposable, requireReadable } from './changes.ts';
import { type Change, type Proposal, type Proposed, proposalApiVersion, proposalKind, type ShownProposal } from './schema.ts';
import { newProposalName, type ProposalStore } from './store.ts';

const openMs = 600_000;
const maxOpen = 20;
/** Characters of a text about an agent. External issuers set no bound. */
const maxText = 512;
const retryOpenSeconds = 60;

/** Events about a change that the service has made. */
type MadeChange = 'ChangeProposalConfirmed' | 'AgentChangedObject';

interface Asking {
  readonly ctx: Context;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** A proposal of an agent, and its effect on the object as it is now. */
interface NewProposal {
  readonly proposal: Proposed;
  readonly change: Change;
  /** True if the change is made already, by `mcp.direct`. */
  readonly isMade: boolean;
}

interface ProposalNeeds {
  readonly store: ProposalStore;
  readonly ownSince: OwnSince;
}

/** Proposals of agents, which the person confirms or rejects. */
export class ChangeProposals {
  readonly #services: Services;
  readonly #store: ProposalStore;
  readonly #ownSince: OwnSince;

  constructor(services: Services, { store, ownSince }: ProposalNeeds) {
    this.#services = services;
    this.#store = store;
    this.#ownSince = ownSince;
  }

  /**
   * Keeps a change that an agent proposes, once the person could make it now. Makes it at once if `mcp.direct` has it, and the person has
   * allowed that to the agent.
   *
   * @throws UpstreamError in the words of the API server; StatusError 400, 403, 409, 413, 429, 503, 504
   */
  async propose(
    asked: Pick<Proposed, 'object' | 'verb' | 'reason' | 'body'>,
    { agent, ...asking }: Asking & { agent: Agent },
  ): Promise<NewProposal> {
    requireProposable(asked);
    requireReadable(asked);
    const { caller, signal } = asking;
    const change = await this.#writeOf(asked, caller).change(signal);
    const [client = '', name = '', host = ''] = [agent.client, agent.name, agent.host].map((text) => text.slice(0, maxText));
    const createdAt = this.#services.now().getTime();
    const user = caller.identity.name;
    const made = { name: newProposalName(), user, cluster: localCluster, agent: { client, name, host } } as const;
    const proposal = { ...asked, ...made, createdAt, expiresAt: createdAt + openMs };
    const isMade = this.#isDirect(asked, agent);
    if (isMade) await this.#make(proposal, change.resourceVersion, { ...asking, audit: 'AgentChangedObject' });
    else await this.#keep(proposal, caller, signal);
    return { proposal, change, isMade };
  }

  /** Reports whether the rules have the change, and are those that the person has allowed. */
  #isDirect({ verb, object }: Pick<Proposed, 'verb' | 'object'>, { direct }: Agent): boolean {
    const rules = this.#services.config.mcp.direct;
    return direct !== undefined && direct === directDigest(rules) && isDirect(rules, { verb, ...object });
  }

  async #keep(proposal: Proposed, caller: Caller, signal: AbortSignal): Promise<void> {
    const open = (await this.#listed(caller, signal)).filter((one) => this.#phaseOf(one) === 'Open');
    if (open.length >= maxOpen)
      throw tooManyRequests(`${maxOpen} proposals wait for the user, who confirms or rejects them in the console`, retryOpenSeconds);
    await this.#store.create(proposal, signal);
  }

  /** Lists the proposals for the caller, newest first. @throws StatusError 503, 504 */
  async list(caller: Caller, signal: AbortSignal): Promise<ShownProposal[]> {
    return (await this.#listed(caller, signal)).map((proposal) => this.#shown(proposal));
  }

  /** Returns a proposal for the caller; an open one with its effect, or with the refusal of its write. @throws StatusError 404, 503, 504 */
  async get(name: string, caller: Caller, signal: AbortSignal): Promise<ShownProposal> {
    const proposal = await this.#find(name, caller, signal);
    const shown = this.#shown(proposal);
    if (shown.phase !== 'Open') return shown;
    try {
      return { ...shown, change: await this.#writeOf(proposal, caller).change(signal) };
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code >= 500 || error.status.code === 429) throw error;
      const { code, reason = '', message = '' } = error.status;
      return { ...shown, refusal: { code, reason, message } };
    }
  }

  /**
   * Makes the change with the rights of the caller, if the object still has the version that the caller has seen.
   *
   * @throws UpstreamError in the words of the API server; StatusError 400, 403, 404, 409, 503, 504
   */
  async confirm(name: string, resourceVersion: string | undefined, { ctx, caller, signal }: Asking): Promise<ShownProposal> {
    requireNoAccessToken('proposals', caller);
    const proposal = await this.#findOpen(name, caller, signal);
    if ((proposal.verb !== 'create') !== (resourceVersion !== undefined))
      throw badParameter('resourceVersion', 'is required for a change or deletion, and forbidden for a creation');
    await this.#make(proposal, resourceVersion, { ctx, caller, signal, audit: 'ChangeProposalConfirmed' });
    // The change is made, so that a failure to note it is none of the request.
    await this.#store.decide(proposal, 'Confirmed', signal).catch((error: unknown) => {
      this.#services.log.warn({ proposal: name, err: error }, 'confirmation of a proposal could not be noted');
    });
    return this.#shown({ ...proposal, decision: 'Confirmed' });
  }

  /** @throws StatusError 403, 404, 409, 503, 504 */
  async reject(name: string, { ctx, caller, signal }: Asking): Promise<ShownProposal> {
    requireNoAccessToken('proposals', caller);
    const proposal = await this.#findOpen(name, caller, signal);
    await this.#store.decide(proposal, 'Rejected', signal);
    this.#services.audit.record({
      ...this.#eventOf(proposal, ctx, caller),
      audit: 'ChangeProposalRejected',
      target: { name, uid: '' },
      namespace: this.#services.namespace,
    });
    return this.#shown({ ...proposal, decision: 'Rejected' });
  }

  /** Makes the change as the caller, and records it. */
  async #make(proposal: Proposed, resourceVersion: string | undefined, { ctx, caller, signal, audit }: Asking & { audit: MadeChange }) {
    const write = this.#writeOf(proposal, caller);
    const told = await write.told(signal);
    await write.apply(resourceVersion, signal);
    const { apiGroup, resource, namespace, name } = proposal.object;
    const written = { verb: proposal.verb, apiGroup, resource, ...(namespace !== undefined && { namespace }), name, ...told };
    this.#services.audit.record({ ...this.#eventOf(proposal, ctx, caller), audit, write: written, ...write.kept });
  }

  async #find(name: string, caller: Caller, signal: AbortSignal): Promise<Proposal> {
    const proposal = await this.#store.find(name, caller.identity.name, signal);
    if (proposal === undefined || !this.#isOwn(proposal, caller)) throw notFound(proposalKind.type, name);
    return proposal;
  }

  async #listed(caller: Caller, signal: AbortSignal): Promise<Proposal[]> {
    return (await this.#store.list(caller.identity.name, signal)).filter((proposal) => this.#isOwn(proposal, caller));
  }

  /** Reports whether the proposal is not one for a deleted user of the caller's name. */
  #isOwn({ createdAt }: Proposal, caller: Caller): boolean {
    return createdAt >= (this.#ownSince(caller) ?? 0);
  }

  async #findOpen(name: string, caller: Caller, signal: AbortSignal): Promise<Proposal> {
    const proposal = await this.#find(name, caller, signal);
    const phase = this.#phaseOf(proposal);
    if (phase !== 'Open') throw conflict(proposalKind.type, name, `the phase is ${phase}: ask the agent to propose it again`);
    return proposal;
  }

  #writeOf(write: Pick<Proposed, 'object' | 'verb' | 'body'>, caller: Caller): ProposedWrite {
    const { scope: _scope, ...person } = caller;
    // The person has lent the agent no write, and will write without the agent.
    return new ProposedWrite(this.#services, caller.agent === undefined ? caller : person, write);
  }

  #eventOf({ name, agent }: Proposed, ctx: Context, caller: Caller) {
    const objects = [{ apiGroup: proposalKind.type.group, resource: proposalKind.type.resource, name }];
    return { ...auditCaller(ctx, caller), outcome: 'success', code: 200, agent: { ...agent, tool: 'propose_change', objects } } as const;
  }

  #phaseOf({ decision, expiresAt }: Proposal): ShownProposal['phase'] {
    return decision ?? (this.#services.now().getTime() < expiresAt ? 'Open' : 'Expired');
  }

  #shown(proposal: Proposal): ShownProposal {
    const { name, cluster, agent, object, verb, reason, createdAt, expiresAt } = proposal;
    return {
      apiVersion: proposalApiVersion,
      kind: 'ChangeProposal',
      metadata: { name, creationTimestamp: timestamp(new Date(createdAt)) },
      cluster,
      agent: { client: visibleText(agent.client), name: visibleText(agent.name), host: visibleText(agent.host) },
      object,
      verb,
      reason: visibleText(reason),
      expirationTimestamp: timestamp(new Date(expiresAt)),
      phase: this.#phaseOf(proposal),
    };
  }
}
