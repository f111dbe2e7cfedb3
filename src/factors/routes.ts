/** Second factors: owners list, rename and remove them, administrators reset them. The page of the issuer sets them up. */
import { z } from 'zod';
import { mergePatchTypes } from '../api/json-patch.ts';
import { type Audit, auditWrite } from '../http/audit.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { Services } from '../services.ts';
import { userName } from '../users/record/schema.ts';
import { FactorService, type FactorServiceNeeds, factorExample, factorID, factorListSchema, renameBody } from './service.ts';

const json = 'application/json';
const tag = 'second factors';
const ofUser = z.object({ name: userName });
const ofFactor = z.object({ name: userName, id: factorID });
const notFresh = { description: 'No credential that counts, or a login that is not fresh: cause `StepUpRequired`.' };
const notOwn = { description: 'Not one’s own, or a credential that tells of no login: cause `StepUpNotPossible`.' };

/** Creates the feature. The embedded issuer asks for the factors. */
export const createFactors = (services: Services, needs: FactorServiceNeeds) => ({
  operations: factorOperations(new FactorService(services, needs), services.audit),
});

const factorOperations = (service: FactorService, audit: Audit): Operation[] => [
  listOperation(service),
  renameOperation(service),
  deleteOperation(service, audit),
  resetOperation(service, audit),
];

const listOperation = (service: FactorService) =>
  operation({
    id: 'ListUserFactors',
    method: 'GET',
    paths: ['/auth/v1/users/:name/factors'],
    tag,
    summary: 'Shows what a user proves beside the password at the embedded issuer',
    description: 'One’s own; those of others for callers who may `get users/factors`.',
    credential: 'required',
    params: ofUser,
    answers: {
      200: { description: 'The factors, the oldest first.', content: { [json]: factorListSchema } },
      403: { description: 'Forbidden: RBAC denies it.' },
      404: { description: 'There is no such user.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      ctx.body = await service.list(name, caller, signal);
    },
  });

const renameOperation = (service: FactorService) =>
  operation({
    id: 'PatchUserFactor',
    method: 'PATCH',
    paths: ['/auth/v1/users/:name/factors/:id'],
    tag,
    summary: 'Names one of one’s own factors',
    description: 'Wants a login of the last minutes (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofFactor,
    body: renameBody,
    bodyTypes: mergePatchTypes,
    answers: {
      200: { description: 'The factor.', content: { [json]: factorExample } },
      401: notFresh,
      403: notOwn,
      404: { description: 'There is no such factor.' },
      409: { description: 'Another request changes it at the same time.' },
    },
    async handle({ ctx, caller, params: { name: user, id }, body: { name }, signal }) {
      ctx.body = await service.rename({ user, id }, name, caller, signal);
    },
  });

const deleteOperation = (service: FactorService, audit: Audit) =>
  operation({
    id: 'DeleteUserFactor',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/factors/:id'],
    tag,
    summary: 'Removes one of one’s own factors',
    description: 'With the last one go the recovery codes. Wants a login of the last minutes (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofFactor,
    answers: {
      204: { description: 'It is asked no more.' },
      401: notFresh,
      403: notOwn,
      404: { description: 'There is no such factor.' },
      409: { description: 'It is the last one, and one is required.' },
    },
    async handle({ ctx, caller, params: { name: user, id }, signal }) {
      const { account, factor } = await service.remove({ user, id }, caller, signal);
      audit.record({ audit: 'FactorRemoved', ...auditWrite(ctx, caller, account), code: 204, reason: factor.type });
      ctx.status = 204;
    },
  });

const resetOperation = (service: FactorService, audit: Audit) =>
  operation({
    id: 'DeleteUserFactors',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/factors'],
    tag,
    summary: 'Takes all factors from another user, who has lost them',
    description:
      'Ends the sessions and tokens of the user. Where a factor is required, the time to set one up begins again. Needs `delete users/factors`, and `impersonate` for a user who has rights. Wants a login of the last minutes (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofUser,
    answers: {
      204: { description: 'The user logs in with the password alone.' },
      401: notFresh,
      403: { description: 'RBAC denies it, it is the caller, or the credential tells of no login: cause `StepUpNotPossible`.' },
      404: { description: 'There is no such user.' },
      409: { description: 'The user was deleted meanwhile, or the name that Kubernetes sees is not known.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const account = await service.reset(name, caller, signal);
      audit.record({ audit: 'FactorsReset', ...auditWrite(ctx, caller, account), code: 204 });
      ctx.status = 204;
    },
  });
