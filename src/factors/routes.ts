/**
 * Operations on the factors of one user, below the path of that user. None is standard: factors are a subresource that no cache watches,
 * their list has the rule of the user and no pages, and only a recent login changes them.
 */
import { type Operation, operation } from '@atrium/http/operation.ts';
import { mergePatchTypes } from '@atrium/objects/json-patch.ts';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { userName } from '../users/record/schema.ts';
import { factorExample, factorID, factorListSchema, renameBody } from './schema.ts';
import type { FactorStrategy } from './strategy.ts';

const json = 'application/json';
const tag = 'second factors';
const ofUser = z.object({ name: userName });
const ofFactor = z.object({ name: userName, id: factorID });
const notFresh = { description: 'The credential is invalid, or the login is too old: cause `StepUpRequired`.' };
const notOwn = { description: 'The factor belongs to another user, or the credential does not prove a login: cause `StepUpNotPossible`.' };

export const factorOperations = (strategy: FactorStrategy, audit: Audit): Operation[] => [
  listOperation(strategy),
  renameOperation(strategy),
  deleteOperation(strategy, audit),
  resetOperation(strategy, audit),
];

const listOperation = (strategy: FactorStrategy) =>
  operation({
    id: 'ListUserFactors',
    method: 'GET',
    paths: ['/auth/v1/users/:name/factors'],
    tag,
    summary: 'Lists the second factors of a user at the embedded issuer',
    description: 'Shows factors of the caller, or those of other users with the right to `get users/factors`.',
    credential: 'required',
    params: ofUser,
    answers: {
      200: { description: 'The factors, the oldest first.', content: { [json]: factorListSchema } },
      403: { description: 'RBAC denies it.' },
      404: { description: 'The user does not exist.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      ctx.body = await strategy.list(name, caller, signal);
    },
  });

const renameOperation = (strategy: FactorStrategy) =>
  operation({
    id: 'PatchUserFactor',
    method: 'PATCH',
    paths: ['/auth/v1/users/:name/factors/:id'],
    tag,
    summary: 'Renames a factor of the caller',
    description: 'Requires a recent login (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofFactor,
    body: renameBody,
    bodyTypes: mergePatchTypes,
    answers: {
      200: { description: 'The factor.', content: { [json]: factorExample } },
      401: notFresh,
      403: notOwn,
      404: { description: 'The factor does not exist.' },
      409: { description: 'Another request changes the factor at the same time.' },
    },
    async handle({ ctx, caller, params: { name: user, id }, body: { name }, signal }) {
      ctx.body = await strategy.rename({ user, id }, name, caller, signal);
    },
  });

const deleteOperation = (strategy: FactorStrategy, audit: Audit) =>
  operation({
    id: 'DeleteUserFactor',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/factors/:id'],
    tag,
    summary: 'Removes a factor of the caller',
    description: 'Removes the recovery codes together with the last factor. Requires a recent login (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofFactor,
    answers: {
      204: { description: 'The factor is removed.' },
      401: notFresh,
      403: notOwn,
      404: { description: 'The factor does not exist.' },
      409: { description: 'The factor is the last one, and a factor is required.' },
    },
    async handle({ ctx, caller, params: { name: user, id }, signal }) {
      const { account, factor } = await strategy.remove({ user, id }, caller, signal);
      audit.recordWrite(ctx, caller, { audit: 'FactorRemoved', target: account, code: 204, reason: factor.type });
      ctx.status = 204;
    },
  });

const resetOperation = (strategy: FactorStrategy, audit: Audit) =>
  operation({
    id: 'DeleteUserFactors',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/factors'],
    tag,
    summary: 'Removes all factors of another user, who has lost them',
    description:
      'Ends the sessions and tokens of the user. If a factor is required, the period to set one up begins again. Requires `delete users/factors`, `impersonate` for a user with rights, and a recent login (`login.stepUp.maxAge`).',
    credential: 'required',
    params: ofUser,
    answers: {
      204: { description: 'The user has no second factor.' },
      401: notFresh,
      403: { description: 'RBAC denies it, the user is the caller, or the credential does not prove a login: cause `StepUpNotPossible`.' },
      404: { description: 'The user does not exist.' },
      409: { description: 'The user was deleted meanwhile, or their Kubernetes name is unknown.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const account = await strategy.reset(name, caller, signal);
      audit.recordWrite(ctx, caller, { audit: 'FactorsReset', target: account, code: 204 });
      ctx.status = 204;
    },
  });
