/**
 * Access for a while: users ask for the role of an AccessPolicy, approvers decide, and the role ends by itself. RBAC stays the only
 * authority: access is a UserBinding that expires. Administrators write policies with kubectl.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { clusterNetwork, type Network } from '@atrium/http/outgoing.ts';
import type { Controller } from '@atrium/kubernetes/controllers/controller.ts';
import type { ResourceQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type Collection, collection } from '@atrium/lists/collection.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Context } from 'koa';
import { BindingEnds } from '../bindings/ends.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { followedLists } from '../collection/followed-lists.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import { isMailSet } from '../mail/mailer.ts';
import type { Feature, Services } from '../services.ts';
import { type LocalGroupLookup, localGroupName } from '../users/record/local-groups.ts';
import { AccessMail, type Letterhead } from './access-mail.ts';
import { ActiveRequests } from './active-requests.ts';
import { AdmissionPolicies } from './admission-policies.ts';
import { isUnreviewed } from './break-glass.ts';
import type { AccessSources } from './changes.ts';
import type { AccessContext } from './context.ts';
import { accessController } from './controller.ts';
import { RequestCreator } from './create.ts';
import { policyDefinition, requestDefinition } from './definition.ts';
import { requestEnds } from './ends.ts';
import { expectNotices, reportRequests } from './metrics.ts';
import { NoticeTerm } from './notices.ts';
import { shownOptions } from './options-routes.ts';
import { People } from './people.ts';
import { accessPolicyResource, type PolicyRow, policyProperties, policyRow } from './policy.ts';
import { accessRequestResource, isOpen, type NewRequest, type RequestRow, requestProperties, requestRow } from './request.ts';
import { accessOperations, requestAccess } from './routes.ts';
import { Webhook } from './webhooks.ts';

const collected = {
  policies: { resource: accessPolicyResource, kind: 'AccessPolicy', row: policyRow, properties: policyProperties },
  requests: { resource: accessRequestResource, kind: 'AccessRequest', row: requestRow, properties: requestProperties },
};

/** Watches of policies and requests. Create them before the collections are started. */
interface WatchedAccess {
  policies: Collection<PolicyRow>;
  requests: Collection<RequestRow>;
  /**
   * Reports whether a policy names the subject, as a requester or an approver, or has an open request.
   *
   * @throws StatusError 503 while they are unknown or outdated
   */
  names(kind: 'User' | 'Group', name: string): boolean;
  active: ActiveRequests;
}

export function watchAccess(services: Services): WatchedAccess {
  const policies = collection(services, collected.policies);
  const requests = collection(services, collected.requests);
  return {
    policies,
    requests,
    names(kind, name) {
      for (const { cache } of [policies, requests]) if (cache.outdated() !== undefined) throw cache.unavailable();
      // Local groups are asked for by the name of their Group, and policies name them as Kubernetes does.
      const isIt = (subject: { kind: string; name: string }) =>
        subject.kind === kind && [name, localGroupName(name)].includes(subject.name);
      for (const { subjects, approvers } of policies.cache.values()) if (subjects.some(isIt) || approvers.some(isIt)) return true;
      for (const row of requests.cache.values()) if (kind === 'User' && isOpen(row) && row.spec?.record === name) return true;
      return false;
    },
    active: new ActiveRequests(requests.cache),
  };
}

/** Dependencies that are made for the whole service. */
export interface AccessRequestsOptions extends NoticeNeeds {
  /** Checks the credential of a request again. */
  readonly again: WhileAllowedOptions['again'];
}

interface EndNeeds extends AccessSources {
  readonly localGroups: LocalGroupLookup;
  readonly userBindings: WatchCache<UserBindingRow>;
}

interface AccessNeeds extends EndNeeds, AccessRequestsOptions {}

const contextOf = (services: Services, { policies, requests }: WatchedAccess, { accounts, localGroups, userBindings }: EndNeeds) => ({
  services,
  policies,
  requests,
  bindings: userBindings,
  people: new People(services, accounts, localGroups),
  admission: new AdmissionPolicies(services, { of: accessPolicyResource, policies: ['accesspolicies', 'accessrequests', 'userbindings'] }),
});

/** Creates the controller alone, for a sweep. Replicas tell receivers of the ends, as the sweep has no secrets of webhooks. */
export const createAccessEnds = (services: Services, watched: WatchedAccess, needs: EndNeeds): Controller =>
  accessController(contextOf(services, watched, needs), needs);

/** Use of access requests by other features. */
export interface AccessAsking {
  /** Finds roles that the caller may ask for to get a right. @throws StatusError 503, 504, and refusals of the API server */
  options(question: ResourceQuestion, caller: Caller, signal: AbortSignal): ReturnType<typeof shownOptions>;
  /** Creates a request of the caller, with its audit event. @throws StatusError 401, 403, 409, 422, 429, 503, 504 */
  request(asked: NewRequest, asking: { ctx: Context; caller: Caller; signal: AbortSignal }): Promise<RequestRow>;
}

interface AccessRequestsFeature extends Feature {
  asking: AccessAsking;
}

export function createAccessRequests(services: Services, watched: WatchedAccess, needs: AccessNeeds): AccessRequestsFeature {
  const { policies, requests } = watched;
  const context = contextOf(services, watched, needs);
  reportRequests(services, () => (requests.cache.isSynced ? requests.cache.values() : undefined), isUnreviewed);
  const creator = new RequestCreator(context);
  const receivers = createReceivers(context, needs);
  const controller = accessController(context, needs, receivers.term);
  const ends = new BindingEnds(services, needs.userBindings, requestEnds(context, needs));
  return {
    operations: [
      ...standardOperations(
        services,
        policies,
        policyDefinition(context),
        followedLists(services, policies, collected.policies, needs.again),
      ),
      ...standardOperations(
        services,
        requests,
        requestDefinition(context),
        followedLists(services, requests, collected.requests, needs.again),
      ),
      ...accessOperations(context, creator),
    ],
    asking: {
      options: (question, caller, signal) => shownOptions(context, question, caller, signal),
      request: (asked, asking) => requestAccess(creator, context, asked, asking),
    },
    checks: [policies.check, requests.check],
    start() {
      policies.start();
      requests.start();
      ends.start();
      controller.start();
    },
    async stop() {
      await Promise.all([controller.stop(), ends.stop()]);
      await receivers.stop();
      await Promise.all([policies.stop(), requests.stop()]);
    },
  };
}

/** Dependencies of notices. */
interface NoticeNeeds {
  readonly letterhead: Letterhead;
  /** Addresses of webhooks, for tests. */
  readonly network: Network | undefined;
}

interface Receivers {
  /** Returns the term of a leader; undefined without receivers. */
  readonly term: (() => NoticeTerm) | undefined;
  stop(): Promise<void>;
}

/** Creates the receivers of the configuration. */
function createReceivers(context: AccessContext, { letterhead, network = clusterNetwork }: NoticeNeeds): Receivers {
  const { services } = context;
  const { accessRequests, server, smtp } = services.config;
  const webhooks = accessRequests.webhooks.map((config) => new Webhook(services, config, network));
  const isMailed = accessRequests.mail && isMailSet(smtp) && server.publicURL !== undefined;
  expectNotices(services.metrics, [...webhooks.map(({ name }) => name), ...(isMailed ? ['mail'] : [])]);
  const newTerm = () => {
    const mail = isMailed ? new AccessMail(context, letterhead) : undefined;
    return new NoticeTerm(context, [...webhooks, ...(mail ? [mail] : [])], mail);
  };
  return {
    term: isMailed || webhooks.length > 0 ? newTerm : undefined,
    async stop() {
      await Promise.all(webhooks.map((webhook) => webhook.stop()));
    },
  };
}
