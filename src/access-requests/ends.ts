/** Ends of the access of requests at replicas that do not lead. */
import type { EndRule } from '../bindings/ends.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { type AccessSources, RequestChanges } from './changes.ts';
import type { AccessContext } from './context.ts';
import { bindingNameOf, isOpen } from './request.ts';
import { lapseReasonOf } from './standing.ts';

/**
 * Ends the UserBinding of a request that is over, or that no longer stands. Its time is in the UserBinding. Without its request, it is
 * removed by the garbage collection of the API server.
 */
export function requestEnds(context: AccessContext, sources: AccessSources): EndRule {
  const { requests } = context;
  const changes = new RequestChanges(context, sources);
  const bindingOf = (name: string) => {
    const row = requests.cache.get(name);
    return row && bindingNameOf(row);
  };
  return {
    onChange: (enqueue) =>
      changes.onChange((name) => {
        const binding = bindingOf(name);
        if (binding !== undefined) enqueue(binding);
      }),
    whenSynced: (signal) => changes.whenSynced(signal),
    *keys() {
      for (const row of requests.cache.values()) yield bindingNameOf(row);
    },
    endOf({ name, isDeleted, request }: UserBindingRow) {
      const row = request && requests.cache.get(request.name);
      if (isDeleted || row === undefined || name !== bindingNameOf(row)) return undefined;
      return !isOpen(row) || lapseReasonOf(context, row) !== undefined ? 'now' : undefined;
    },
  };
}
