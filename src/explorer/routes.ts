import type { Caller } from '@atrium/http/caller.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { selfReview } from '@atrium/kubernetes/identity.ts';
import type { AccessQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import { badRequest, serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { accessStatus } from '../access/schema.ts';
import { auditCaller } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { Asking, ExplorerContext } from './rights.ts';
import {
  type AccessSubjectList,
  accessRuleList,
  accessSubjectList,
  rulesQuery,
  type SubjectReview,
  type SubjectsQuery,
  subjectReviewAnswer,
  subjectReviewBody,
  subjectsQuery,
} from './schema.ts';
import { simulationAnswer, simulationBody } from './simulation-schema.ts';
import { Simulations } from './simulations.ts';
import { SubjectRules } from './subject-rules.ts';

const tag = 'access';
const json = 'application/json';

const forbidden = { description: 'The caller may not list the bindings.' };

/** @param inTurn runs work within the bounds of the caller */
export const explorerOperations = (context: ExplorerContext, inTurn: InTurn, whoCan: WhoCan): Operation[] => [
  subjectsOperation(whoCan),
  rulesOperation(context, inTurn),
  reviewOperation(context),
  simulationOperation(context),
];

type WhoCan = (question: AccessQuestion, page: { limit: number; page: number }, asking: Asking) => Promise<AccessSubjectList>;

export type InTurn = <T>(caller: Caller, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

const subjectsOperation = (whoCan: WhoCan) =>
  operation({
    id: 'ListAccessSubjects',
    method: 'GET',
    paths: ['/auth/v1/accesssubjects'],
    tag,
    summary: 'Lists the users, groups and ServiceAccounts that may perform an action, by RBAC',
    description: 'Other authorizers may allow or deny more. Bindings of the whole cluster are left out if the caller may not list them.',
    credential: 'required',
    before: [compressed],
    query: subjectsQuery,
    answers: { 200: { description: 'A page of subjects.', content: { [json]: accessSubjectList } }, 403: forbidden },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await whoCan(questionOf(query), query, { caller, signal });
    },
  });

/** @throws StatusError 400 unless the query names exactly one of `resource` and `path` */
function questionOf({ verb, group, resource, subresource, namespace, name, path }: SubjectsQuery): AccessQuestion {
  if ((resource || undefined) !== undefined && path === undefined)
    return { verb, group, resource: resource ?? '', subresource, namespace, name };
  if (path !== undefined && resource === undefined && [group, subresource, namespace, name].every((given) => given === ''))
    return { verb, path };
  throw badRequest('give resource, with group, subresource, namespace and name, or path alone');
}

function rulesOperation(context: ExplorerContext, inTurn: InTurn): Operation {
  const rules = new SubjectRules(context);
  return operation({
    id: 'ListAccessRules',
    method: 'GET',
    paths: ['/auth/v1/accessrules'],
    tag,
    summary: 'Lists the rules that bindings give to a user, group or ServiceAccount',
    description: 'Includes the rules of its groups. The groups of a user are those of the User record.',
    credential: 'required',
    before: [compressed],
    query: rulesQuery,
    answers: {
      200: { description: 'A page of rules.', content: { [json]: accessRuleList } },
      403: forbidden,
      410: { description: '`continue` is too old; start again without it.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await inTurn(caller, () => rules.list(query, { caller, signal }), signal);
    },
  });
}

const reviewOperation = ({ services }: ExplorerContext) =>
  operation({
    id: 'CreateSubjectAccessReview',
    method: 'POST',
    paths: ['/auth/v1/subjectaccessreviews'],
    tag,
    summary: 'Reviews whether another user may perform an action',
    description: 'Passed to the API server with the credential of the caller. Returns 201 with `allowed: false` for a denied action.',
    credential: 'required',
    before: [compressed],
    body: subjectReviewBody,
    answers: {
      201: { description: 'The review with its status.', content: { [json]: subjectReviewAnswer } },
      403: { description: 'The caller may not create subjectaccessreviews.authorization.k8s.io.' },
      422: { description: 'The API server refuses the review.' },
    },
    async handle({ ctx, caller, body, signal }) {
      ctx.status = 201;
      ctx.body = await reviewSubject(services, body, { caller, signal });
    },
  });

function simulationOperation(context: ExplorerContext): Operation {
  const simulations = new Simulations(context);
  const { audit } = context.services;
  return operation({
    id: 'CreateSimulation',
    method: 'POST',
    paths: ['/auth/v1/simulations'],
    tag,
    summary: 'Simulates changes of roles, bindings and groups, and reports the rights that subjects would gain and lose',
    description:
      'Changes nothing. `refusals` are the refusals of a dry run with the rights of the caller. Callers with rights in one namespace simulate deletions of its RoleBindings.',
    credential: 'required',
    before: [compressed],
    body: simulationBody,
    answers: {
      200: { description: 'The gained and lost rights of each subject.', content: { [json]: simulationAnswer } },
      403: { description: 'The caller may not create simulations, or may not read all roles and bindings, or a user.' },
      422: { description: 'The changes concern more than 500 subjects, or too many rules.' },
    },
    async handle({ ctx, caller, body, signal }) {
      const { simulation, namespace } = await simulations.run(body, { caller, signal });
      ctx.body = simulation;
      const place = namespace === undefined ? {} : { namespace };
      audit.record({ audit: 'SimulationRun', ...auditCaller(ctx, caller), ...place, outcome: 'success', code: 200 });
    },
  });
}

const answered = z.object({ status: accessStatus });

/** Passes a SubjectAccessReview on as the caller, who needs `create` on it. @throws StatusError 403, 422 of the API server, 503, 504 */
async function reviewSubject({ apiServer }: Services, { spec }: SubjectReview, { caller, signal }: Asking) {
  const answer = await selfReview(apiServer.asCaller(caller), {
    group: 'authorization.k8s.io',
    kind: 'SubjectAccessReview',
    spec,
    signal,
  });
  const { success, data, error } = answered.safeParse(answer);
  if (!success) throw serviceUnavailable('kubernetes', { cause: error });
  return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec, status: data.status };
}
