import { randomBytes } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { upstreamRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { type FieldError, forbidden, invalidValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { alreadyExists, invalid, StatusError, tooManyRequests } from '@atrium/objects/status.ts';
import type { auditCaller } from '../audit/audit.ts';
import { PendingCreations } from '../collection/pending-creations.ts';
import { requireNoAccessToken } from '../step-up/sensitive-writes.ts';
import { requireStepUp } from '../step-up/step-up.ts';
import type { Account } from '../users/record/account.ts';
import { begin, countUse } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import { grantAccess } from './grant.ts';
import { accessApiVersion, type PolicyRow, type PolicySubject } from './policy.ts';
import {
  accessRequestResource,
  maxAheadMs,
  maxBreakGlassSeconds,
  type NewRequest,
  type RequestRow,
  type RequestSpec,
  requestRow,
} from './request.ts';
import { coversByName, isBindable, isInTime, unselected } from './standing.ts';
import { requestsOf } from './status-writer.ts';

const kind = { group: accessRequestResource.group, kind: 'AccessRequest', name: '' };
/** Seconds after which a user with too many open requests may ask again. */
const retryAfterSeconds = 60;

interface CreateOptions {
  readonly isDryRun: boolean;
  /** The caller in audit events. */
  readonly origin: ReturnType<typeof auditCaller>;
}

/** Creates requests, and counts those that are being created. */
export class RequestCreator {
  readonly #context: AccessContext;
  readonly #creations = new PendingCreations();

  constructor(context: AccessContext) {
    this.#context = context;
  }

  /**
   * Creates a request of the caller. A request that needs no approval gives its access at once.
   *
   * @throws StatusError 401, 403, 409, 422, 429, 503, 504
   */
  async create(asked: NewRequest, { isDryRun, origin }: CreateOptions, caller: Caller, signal: AbortSignal): Promise<RequestRow> {
    const context = this.#context;
    const { services, people, requests, policies, admission } = context;
    requireNoAccessToken('newAccessRequest', caller);
    const account = people.requireNormal(caller);
    await admission.require(signal);
    await Promise.all([requests, policies].map(({ lister }) => lister.whenReady(signal)));
    services.rbac.requireSynced();
    const policy = policies.cache.get(asked.policy);
    const subject = policy && people.of(account).subjectOf(policy);
    if (policy === undefined || subject === undefined)
      throw invalid(kind, [invalidValue('policy', asked.policy, 'no policy of that name lets you ask for access')]);
    const errors = [...(caller.agent ? agentErrors(asked, policy) : []), ...(await this.#errorsOf(asked, policy, signal))];
    if (errors.length > 0) throw invalid(kind, errors);
    if (policy.requireStepUp || asked.breakGlass === true) requireStepUp(caller, services.config.login.stepUp, services.now());
    const spec = this.#specOf(asked, { policy, subject, account, caller });
    const key = sameKey(spec);
    const creation = { owner: account.uid, key, existing: this.#openOf(account) };
    return this.#creations.create(
      creation,
      (open) => this.#checkOpen(key, open),
      async () => {
        if (spec.breakGlass) await this.#countBreakGlass(spec, account, isDryRun, signal);
        const object = await this.#store(spec, isDryRun, signal);
        const row = requestRow(object);
        if (isDryRun) return row;
        await requests.cache.waitForWrite(object.metadata.resourceVersion, signal);
        // The request exists, and is audited also if its caller disconnects. A failure is left to the leader.
        const begun = await begin(context, row, neverAborts, origin).catch((error: unknown) => {
          services.log.warn({ accessRequest: row.name, err: error }, 'a request could not be begun, retrying');
          return 'conflict' as const;
        });
        return begun === 'conflict' ? row : grantAccess(context, begun, signal);
      },
    );
  }

  async #errorsOf(asked: NewRequest, policy: PolicyRow, signal: AbortSignal): Promise<FieldError[]> {
    const { services } = this.#context;
    const errors = [...memberErrors(asked, policy, services.now()), ...scopeErrors(asked, policy)];
    if (errors.length > 0) return errors;
    const { roleRef, namespaces = [] } = asked;
    const isGiven = services.rbac.hasClusterRole(roleRef) && (await isBindable(services, roleRef, signal));
    if (!isGiven) errors.push(invalidValue('roleRef', roleRef, 'the role does not exist, or the service may not bind it'));
    for (const name of await unselected(services, policy, namespaces, signal))
      errors.push(notCovered(`namespaces[${namespaces.indexOf(name)}]`, name));
    return errors;
  }

  #specOf(
    {
      cluster: _cluster,
      policy: _policy,
      roleRef,
      scope,
      namespaces,
      reason,
      ticket,
      notBefore,
      durationSeconds,
      breakGlass = false,
    }: NewRequest,
    { policy, subject, account, caller }: { policy: PolicyRow; subject: PolicySubject; account: Account; caller: Caller },
  ): RequestSpec {
    const { name, uid, generation, ticketPattern, approvals } = policy;
    return {
      requester: caller.identity.name,
      record: account.name,
      recordUID: account.uid,
      policy: { name, uid, generation },
      subject,
      roleRef,
      roleUID: this.#context.services.rbac.clusterRoleUID(roleRef) ?? '',
      scope,
      ...(namespaces && { namespaces: [...namespaces].sort() }),
      ...(reason !== undefined && { reason }),
      ...(ticket !== undefined && { ticket }),
      ...(ticketPattern !== undefined && { ticketPattern }),
      ...(notBefore !== undefined && { notBefore }),
      durationSeconds,
      approvals,
      breakGlass,
    };
  }

  /** Counts break-glass. A request that the API server would refuse costs no use. @throws StatusError 422, 429, 409, 503, 504 */
  async #countBreakGlass(spec: RequestSpec, account: Account, isDryRun: boolean, signal: AbortSignal): Promise<void> {
    if (!isDryRun) await this.#store(spec, true, signal);
    await countUse(this.#context, account, { isDryRun, signal });
  }

  /** Stores a request. The API server compares the ticket, because Node.js has no RE2. @throws StatusError 422, 503, 504 */
  async #store(spec: RequestSpec, isDryRun: boolean, signal: AbortSignal): Promise<KubernetesObject> {
    const name = `areq-${randomBytes(8).toString('hex')}`;
    const object = { apiVersion: accessApiVersion, kind: 'AccessRequest', metadata: { name }, spec };
    try {
      const stored = await requestsOf(this.#context).create(object, { isStrict: true, isDryRun, signal, isAudited: !isDryRun });
      if (stored !== 'conflict') return stored;
      throw alreadyExists({ ...accessRequestResource }, name);
    } catch (error) {
      const { code, message = '' } = upstreamRefusal(error)?.status ?? {};
      if (code === 422 && message.includes('the ticket does not match'))
        throw invalid(kind, [invalidValue('ticket', spec.ticket, `must match ${spec.ticketPattern}`)]);
      throw error;
    }
  }

  /** Returns the keys of the open requests of a user. */
  #openOf({ uid }: Account): string[] {
    const context = this.#context;
    return [...context.requests.cache.values()].flatMap((row) =>
      isInTime(context, row) && row.spec?.recordUID === uid ? [sameKey(row.spec)] : [],
    );
  }

  /** Refuses the same request twice, and too many. @throws StatusError 409, 429 */
  #checkOpen(key: string, open: ReadonlySet<string>): void {
    if (open.has(key)) throw openAlready();
    if (open.size >= this.#context.services.config.accessRequests.maxOpen)
      throw tooManyRequests(`you have ${open.size} open requests: end one that is no longer needed`, retryAfterSeconds);
  }
}

/** Break-glass stands beside a request that waits for its approvals. */
const sameKey = ({ policy, roleRef, scope, namespaces = [], breakGlass }: RequestSpec): string =>
  JSON.stringify([policy.uid, roleRef, scope, namespaces, breakGlass]);

const openAlready = (): StatusError =>
  new StatusError(409, 'AlreadyExists', 'you have an open request for the same role and place', {
    details: {
      group: accessRequestResource.group,
      kind: accessRequestResource.resource,
      causes: [{ reason: 'AlreadyOpen', message: 'end it, or wait for it' }],
    },
  });

const notCovered = (field: string, name: string): FieldError =>
  invalidValue(field, name, 'the policy does not cover it, or it does not exist');

function memberErrors(asked: NewRequest, policy: PolicyRow, now: Date): FieldError[] {
  const { roleRef, reason, ticket, notBefore, durationSeconds, breakGlass = false } = asked;
  const errors: FieldError[] = breakGlass ? breakGlassErrors(asked, policy) : [];
  if (!policy.roleRefs.includes(roleRef)) errors.push(notSupported('roleRef', roleRef, policy.roleRefs));
  if (durationSeconds > policy.maxSeconds)
    errors.push(invalidValue('durationSeconds', durationSeconds, `may not be more than ${policy.maxSeconds}`));
  if (policy.requireReason && reason === undefined) errors.push(required('reason', 'the policy requires a reason'));
  if (policy.ticketPattern !== undefined && ticket === undefined) errors.push(required('ticket', `must match ${policy.ticketPattern}`));
  if (notBefore !== undefined && Date.parse(notBefore) > now.getTime() + maxAheadMs)
    errors.push(invalidValue('notBefore', notBefore, 'must be within two weeks'));
  return errors;
}

/** Requires that a person decides on what an agent asks for. */
const agentErrors = ({ breakGlass = false }: NewRequest, { approvals }: PolicyRow): FieldError[] =>
  approvals === 0 || breakGlass
    ? [forbidden('policy', 'gives the role without approval, which no agent may ask for: ask in the console')]
    : [];

function breakGlassErrors({ notBefore, durationSeconds }: NewRequest, policy: PolicyRow): FieldError[] {
  const errors: FieldError[] = [];
  if (!policy.breakGlass) errors.push(forbidden('breakGlass', 'the policy has no break-glass'));
  if (notBefore !== undefined) errors.push(forbidden('notBefore', 'break-glass begins at once'));
  if (durationSeconds > maxBreakGlassSeconds && policy.maxSeconds > maxBreakGlassSeconds)
    errors.push(invalidValue('durationSeconds', durationSeconds, `break-glass may not be more than ${maxBreakGlassSeconds}`));
  return errors;
}

function scopeErrors({ scope, namespaces }: NewRequest, policy: PolicyRow): FieldError[] {
  if (scope === 'platform') {
    if (namespaces !== undefined) return [forbidden('namespaces', 'a request for the platform names no namespace')];
    return coversByName(policy, { scope }) ? [] : [notSupported('scope', scope, ['namespace'])];
  }
  if (namespaces === undefined) return [required('namespaces', 'a request for namespaces names them')];
  if (new Set(namespaces).size < namespaces.length) return [invalidValue('namespaces', namespaces, 'must name each namespace once')];
  return namespaces.flatMap((name, index) =>
    coversByName(policy, { scope, namespaces: [name] }) ? [] : [notCovered(`namespaces[${index}]`, name)],
  );
}
