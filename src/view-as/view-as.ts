/** Views of the cluster as another user (docs/contract/view-as.md). */
import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import { auditView, reasonOf } from '../http/access-denied.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Bearer, Caller, ViewedAccess, Viewing, ViewTarget } from '../http/operation.ts';
import { viewTargetOf } from '../http/view-headers.ts';
import { isReservedGroup } from '../kubernetes/impersonation.ts';
import { atMost } from '../limits/eviction-queue.ts';
import type { Services } from '../services.ts';
import { requireViewRight, viewNotAllowed } from './rights.ts';

/** Interval of the audit events about reads of one view. */
const readAuditMs = 300_000;
const maxViews = 10_000;

/** Groups that the API server or kubeadm gives all rights. */
const almighty = ['system:masters', 'kubeadm:cluster-admins'];

/**
 * Lets callers view the cluster as another user. A view is a bearer of its own, whose hash stands for caller and target, so that every cache
 * keyed by it keeps views apart.
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
  if (actAs !== undefined && (name.startsWith('system:') || groups.some(isReservedGroup)))
    throw viewNotAllowed('this installation shows no view as a name or group that the cluster reserves (system:, kubeadm:)');
}
