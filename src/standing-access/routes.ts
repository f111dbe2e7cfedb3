import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { readRecorder } from '../audit/read-events.ts';
import type { Services } from '../services.ts';
import { standingList, standingQuery } from './schema.ts';
import type { StandingAccess } from './service.ts';

export function standingOperations(services: Services, standing: StandingAccess): Operation[] {
  const recordRead = readRecorder(services);
  return [
    operation({
      id: 'ListStandingAccess',
      method: 'GET',
      paths: ['/auth/v1/standingaccess'],
      tag: 'access',
      summary: 'Lists the bindings that hold for good, with the last use of each',
      description:
        'Lists bindings that no access request made and that have no end, the highest severity first. Uses are those that the audit records, by the people who hold the binding now. A right that several bindings give is a use of each.',
      credential: 'required',
      before: [compressed],
      query: standingQuery,
      answers: {
        200: { description: 'A page of bindings.', content: { 'application/json': standingList } },
        403: { description: 'The caller may not list the bindings, or audits.auth.platform.io.' },
      },
      async handle({ ctx, caller, query, signal }) {
        ctx.body = await standing.list(query, { caller, signal });
        const { namespace, name, role } = query;
        recordRead({ ctx, caller }, { view: 'StandingAccess', namespace, name, role }, { scope: 'All' });
      },
    }),
  ];
}
