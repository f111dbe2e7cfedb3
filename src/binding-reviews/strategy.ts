/** Rules of BindingReviews: callers read those of places whose bindings they may list. */
import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import type { ResourceAccess } from '@atrium/kubernetes/access.ts';
import type { FindVisible, SelectVisible } from '@atrium/lists/visible-rows.ts';
import { notFound } from '@atrium/objects/status.ts';
import { clusterRoleBindings, roleBindings } from '../bindings/role-binding.ts';
import type { ReviewContext } from './context.ts';
import { bindingReviewResource, type ReviewRow } from './review.ts';

/** Returns the right to do something with the bindings of a place, or with one of them. @param place '' for the cluster */
export const rightIn = (place: string, verb: string, name?: string): ResourceAccess => ({
  ...(place === '' ? clusterRoleBindings : roleBindings),
  ...(place !== '' && { namespace: place }),
  ...(name !== undefined && { name }),
  verb,
});

/** Selects the reviews of places whose bindings the caller may list; all for callers who may list BindingReviews. */
export const visibleReviews =
  (context: ReviewContext): SelectVisible<ReviewRow> =>
  async (_query, { caller, verb, signal }) => {
    const { access } = context.services;
    const right = { ...bindingReviewResource, verb };
    if (await access.can(caller, right, signal)) return { right };
    await context.reviews.lister.whenReady(signal);
    const places = [...new Set([...context.reviews.cache.values()].map(({ place }) => place))].sort();
    const rights = places.map((place) => rightIn(place, 'list'));
    const allowed = await access.canEach(caller, rights, signal, { isKept: false });
    const seen = new Set(places.filter((_place, index) => allowed[index]));
    const key = `in ${hash('sha256', JSON.stringify([...seen]), 'base64url')}`;
    return { scope: () => ({ key, fits: (row: ReviewRow) => row.spec !== undefined && seen.has(row.place) }) };
  };

/** Returns a review that the caller may see. @throws StatusError 404 whether or not a hidden review exists, 503, 504 */
export async function requireVisible(
  { services: { access } }: ReviewContext,
  row: ReviewRow | undefined,
  { name, caller }: { name: string; caller: Caller },
  signal: AbortSignal,
): Promise<ReviewRow> {
  const mayGet = await access.can(caller, { ...bindingReviewResource, verb: 'get', name }, signal);
  if (row === undefined) throw notFound(bindingReviewResource, name);
  if (!mayGet && (row.spec === undefined || !(await access.can(caller, rightIn(row.place, 'list'), signal))))
    throw notFound(bindingReviewResource, name);
  return row;
}

export const findReview =
  (context: ReviewContext): FindVisible =>
  async (name, { caller, signal }) => {
    await context.reviews.lister.whenReady(signal);
    return requireVisible(context, context.reviews.cache.get(name), { name, caller }, signal);
  };
