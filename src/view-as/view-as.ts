/** Views of the cluster as another user (docs/contract/view-as.md). */
import { hash } from 'node:crypto';
import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Bearer, Caller, ViewedAccess, Viewing, ViewTarget } from '@atrium/http/caller.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { viewTargetOf } from '@atrium/http/view-headers.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import { isReservedGroup, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { auditView, reasonOf } from '../audit/audit.ts';
import type { Services } from '../services.ts';

/** Interval of the audit events about reads of one view. */
const readAuditMs = 300_000;
const maxViews = 10_000;

/** Groups that the API server or kubeadm gives all rights. */
const almighty = ['system:masters', 'kubeadm:cluster-admins'];

/**
 * Lets callers view the cluster as another user. A view is a bearer of its own, whose hash stands for caller and target, so that every
 * cache keyed by it keeps views apart.
 */
export function withViewAs(others: Authenticator, services: Services): Authenticator {
  const { access, audit, namespace } = services;
  const audited = new LRUCache<string, true>({ ...atMost(maxViews), ttl: readAuditMs, ttlResolution: 0, perf: { now: services.clock } });

  async function view(ctx: Context, by: Caller, asked: ViewedAccess): Promise<Caller> {
    const target = viewTargetOf(ctx.req);
    if (target === undefined) return by;
    ctx.state.viewed = { target, access: asked };
    try {
      requireAllowed(by, target, namespace);
      await requireViewRight(access, by, asked, target, ctx.state.signal);
      const viewing = await others.identify(viewerOf({ by, target }), ctx.state.signal);
      auditRead(ctx, viewing, { by, target });
      return viewing;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 403)
        auditView(audit, ctx, { by, target }, { code: 403, reason: reasonOf(error) });
      throw error;
    }
  }

  function auditRead(ctx: Context, { hash: key }: Caller, viewing: Viewing): void {
    if (audited.has(key)) return;
    audited.set(key, true);
    auditView(audit, ctx, viewing, { code: 200, reason: 'Read' });
  }

  return {
    ...others,
    view,
    async revalidate(ctx) {
      const bearer = await others.revalidate(ctx);
      const { viewed, signal } = ctx.state;
      if (viewed === undefined) return bearer;
      const by = await others.identify(bearer, signal);
      await requireViewRight(access, by, viewed.access, viewed.target, signal);
      return viewerOf({ by, target: viewed.target });
    },
  };
}

/** Returns the credential of a view. Rules for the caller's own record and accounts do not apply to it. */
function viewerOf(viewing: Viewing): Bearer {
  const { by, target } = viewing;
  const { identity: _identity, user: _user, subject: _subject, mustChangePassword: _due, ...bearer } = by;
  return { ...bearer, hash: hash('sha256', JSON.stringify([by.hash, target.name, target.uid, target.groups])), viewing };
}

/** @throws StatusError 403 ViewAsNotAllowed for a caller or target of whom no view is offered, also to administrators */
function requireAllowed({ accessToken, identity, actAs }: Caller, { name, groups }: ViewTarget, namespace: string): void {
  if (accessToken !== undefined) throw viewNotAllowed('an access token cannot view the cluster as another user: log in');
  if (identity.name.startsWith('system:serviceaccount:'))
    throw viewNotAllowed('a service account cannot view the cluster as another user: log in');
  const names = [name, ...groups].map((one) => one.toLowerCase());
  if (names.some((one) => almighty.includes(one))) throw viewNotAllowed(`no user views the cluster as ${almighty.join(' or ')}`);
  const isOwnAccount = (one: string) => new RegExp(`^system:serviceaccounts?:${namespace}(?::|$)`).test(one);
  if (names.some(isOwnAccount)) throw viewNotAllowed('no user views the cluster as an account of this service');
  // The service's account impersonates the target, and it may become more than the caller.
  if (actAs !== undefined && (isReservedName(name) || groups.some(isReservedGroup)))
    throw viewNotAllowed('this installation shows no view as a name or group that the cluster reserves (system:, kubeadm:)');
}

const authentication = 'authentication.k8s.io';
const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/;

interface Question {
  group: string;
  resource: string;
  namespace?: string;
  name: string;
}

/**
 * Requires the right to view: the verb `impersonate` on the user, uid and each group, or those of constrained impersonation for this
 * access. The API server asks the same questions.
 *
 * @throws StatusError 403 ViewAsNotAllowed, or like a review of the caller
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
 */
async function requireViewRight(access: AccessReviews, caller: Caller, asked: ViewedAccess, target: ViewTarget, signal: AbortSignal) {
  const may = async (verb: string, questions: readonly Question[]) =>
    (
      await access.canEach(
        caller,
        questions.map((question) => ({ ...question, verb })),
        signal,
      )
    ).every(Boolean);
  if (await may('impersonate', questionsOf(target, ''))) return;
  const mode = modeOf(target);
  if (mode !== undefined && (await may(`impersonate:${mode}`, questionsOf(target, authentication)))) {
    const on = { ...asked, verb: `impersonate-on:${mode}:${asked.verb}` };
    if ('path' in on ? await access.canUsePath(caller, on, signal) : await access.can(caller, on, signal)) return;
  }
  throw notAllowed(caller.identity.name, target, asked);
}

/** @param group API group of users and groups: that of `impersonate`, or of constrained impersonation */
function questionsOf({ name, uid, groups }: ViewTarget, group: string): Question[] {
  const [, namespace, account] = serviceAccount.exec(name) ?? [];
  return [
    namespace && account ? { group, resource: 'serviceaccounts', namespace, name: account } : { group, resource: 'users', name },
    ...groups.map((one) => ({ group, resource: 'groups', name: one })),
    ...(uid === '' ? [] : [{ group: authentication, resource: 'uids', name: uid }]),
  ];
}

/** Returns the mode of constrained impersonation. A service account takes a name alone; nodes need `impersonate`. */
function modeOf({ name, uid, groups }: ViewTarget): 'user-info' | 'serviceaccount' | undefined {
  if (name.startsWith('system:node:')) return undefined;
  if (!serviceAccount.test(name)) return 'user-info';
  return uid === '' && groups.length === 0 ? 'serviceaccount' : undefined;
}

function notAllowed(user: string, { name, groups }: ViewTarget, asked: ViewedAccess): StatusError {
  const what = 'path' in asked ? `path "${asked.path}"` : `resource "${asked.resource}"`;
  const inGroups = groups.length === 0 ? '' : ` in ${groups.map((group) => `"${group}"`).join(', ')}`;
  return viewNotAllowed(
    `User "${user}" cannot ${asked.verb} ${what} as "${name}"${inGroups}: that needs the verb impersonate on the user, the uid and each group, or impersonate:user-info on them and impersonate-on:user-info:${asked.verb}`,
  );
}

/** 403 for a caller or target of whom no view is offered. */
const viewNotAllowed = (message: string): StatusError =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'ViewAsNotAllowed', message }] } });
