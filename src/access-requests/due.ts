import { bindingFinalizer } from '../bindings/resource.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { isOpen, type RequestRow } from './request.ts';

/** Watched requests and UserBindings. */
interface Followed {
  readonly requests: Iterable<Pick<RequestRow, 'name' | 'phase' | 'until'>>;
  readonly bindings: Iterable<Pick<UserBindingRow, 'name' | 'request' | 'expiresAt' | 'phase' | 'isDeleted' | 'finalizers'>>;
}

/**
 * Returns the names of requests and UserBindings whose access has reached its end at that time and still exists.
 *
 * @param at milliseconds since 1970
 */
export function dueEnds({ requests, bindings }: Followed, at: number): string[] {
  const due: string[] = [];
  const over = new Set<string>();
  for (const row of requests) {
    if (!isOpen(row)) over.add(row.name);
    else if (row.until <= at) due.push(row.name);
  }
  for (const { name, request, expiresAt = Number.POSITIVE_INFINITY, phase, isDeleted, finalizers } of bindings) {
    const isExpired = expiresAt <= at && phase !== 'Expired';
    const isOver = isExpired || (request !== undefined && over.has(request.name));
    // The RBAC is gone with our finalizer. Finalizers of others may keep the UserBinding longer.
    if (isDeleted ? finalizers.includes(bindingFinalizer) : isOver) due.push(name);
  }
  return due;
}
