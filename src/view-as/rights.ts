import { StatusError } from '../api/status.ts';
import type { Caller, ViewedAccess, ViewTarget } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';

const authentication = 'authentication.k8s.io';
const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/;

interface Question {
  group: string;
  resource: string;
  namespace?: string;
  name: string;
}

/**
 * Requires the right to view: the verb `impersonate` on the user, uid and each group, or those of constrained impersonation for this access.
 * The API server asks the same questions.
 *
 * @throws StatusError 403 ViewAsNotAllowed, or like a review of the caller
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
 */
export async function requireViewRight(
  access: AccessReviews,
  caller: Caller,
  asked: ViewedAccess,
  target: ViewTarget,
  signal: AbortSignal,
) {
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
export const viewNotAllowed = (message: string): StatusError =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'ViewAsNotAllowed', message }] } });
