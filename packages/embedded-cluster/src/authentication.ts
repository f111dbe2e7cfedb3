/**
 * Authentication of requests: by client certificate, by bearer token, or anonymous. If Impersonate-* headers are sent and RBAC allows it,
 * the request acts as the user they name.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { badRequest, forbidden, forbiddenPath, StatusError } from '@atrium/objects/status.ts';
import * as x509 from '@peculiar/x509';
import type { AccessAttributes, Rbac } from './rbac.ts';
import type { Backend } from './resources.ts';
import { subjectNames } from './signing-request.ts';
import { AUTHENTICATED, type UserInfo } from './tokens.ts';

const anonymous: UserInfo = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };
const extraPrefix = 'impersonate-extra-';

/** @throws StatusError 401 for a certificate or token that does not verify. */
export async function authenticate({ socket, headers: { authorization = '' } }: IncomingMessage, backend: Backend): Promise<UserInfo> {
  const certified = certificateUser(socket, backend.now());
  if (certified !== undefined && certified !== 'refused') return certified;
  const token = /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (!token && certified === undefined) return anonymous;
  const user = token && (await backend.authenticator.verify(token));
  if (!user || isGone(backend, user)) throw new StatusError(401, 'Unauthorized', 'Unauthorized');
  return user;
}

/** Returns the user of a client certificate: CN is the name, each O a group. `refused` for a certificate that is not valid (any longer). */
function certificateUser(socket: Socket, now: Date): UserInfo | 'refused' | undefined {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || certificate === undefined) return undefined;
  const { commonName, organizations } = subjectNames(new x509.X509Certificate(certificate.raw).subjectName);
  // The handshake has checked the signature and that it is for clients; a connection may outlive it.
  if (!socket.authorized || certificate.validToDate < now || commonName === '') return 'refused';
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return {
    username: commonName,
    uid: '',
    groups: [...organizations, AUTHENTICATED],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
  };
}

/** Reports whether a token belongs to a deleted service account, with which it ends. */
function isGone({ store }: Backend, { username, uid }: UserInfo): boolean {
  const account = serviceAccountOf(username);
  return account !== undefined && uid !== '' && store.get('/serviceaccounts', `${account.namespace}/${account.name}`)?.metadata.uid !== uid;
}

interface Impersonation {
  username: string;
  uid: string;
  groups: string[];
  extra: Record<string, string[]>;
}

/**
 * Returns the user to act as. Constrained impersonation comes first, then the verb `impersonate`, as in the API server.
 *
 * @param request the request as the other user
 * @throws StatusError 403 for a user, group, uid, extra or request that the caller may not impersonate
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
 */
export function impersonate(headers: IncomingMessage, caller: UserInfo, request: AccessAttributes, rbac: Rbac): UserInfo {
  const wanted = wantedUser(headers);
  if (!wanted) return caller;
  const firstDenied = (questions: readonly AccessAttributes[]) =>
    questions.find((attributes) => !rbac.authorize(caller, attributes).allowed);
  const mode = modeOf(wanted);
  const denied = mode && firstDenied(constrainedQuestions(mode, wanted, request));
  if (!mode || denied) {
    const legacyDenied = firstDenied(questionsOf(wanted));
    if (legacyDenied) throw forbiddenAccess(caller, denied ?? legacyDenied);
  }
  const { username, uid, extra } = wanted;
  return { username, uid, groups: effectiveGroups(wanted), ...(Object.keys(extra).length > 0 && { extra }) };
}

type Mode = 'user-info' | 'serviceaccount';

/** Returns the mode of constrained impersonation, undefined for the verb `impersonate` alone, as for nodes here. */
function modeOf({ username, uid, groups, extra }: Impersonation): Mode | undefined {
  if (username.startsWith('system:node:') || groups.includes('system:masters')) return undefined;
  if (serviceAccountOf(username) === undefined) return 'user-info';
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0 ? 'serviceaccount' : undefined;
}

function constrainedQuestions(mode: Mode, wanted: Impersonation, request: AccessAttributes): AccessAttributes[] {
  const constrained = { verb: `impersonate:${mode}`, group: 'authentication.k8s.io' };
  return [
    { ...request, verb: `impersonate-on:${mode}:${request.verb}` },
    ...questionsOf(wanted).map((attributes) => ({ ...attributes, ...constrained })),
  ];
}

function wantedUser({ headersDistinct }: IncomingMessage): Impersonation | undefined {
  const of = (name: string) => (headersDistinct[name] ?? []).map(utf8);
  const [username] = of('impersonate-user');
  const groups = of('impersonate-group');
  const [uid = ''] = of('impersonate-uid');
  const extra = Object.fromEntries(
    Object.entries(headersDistinct)
      .filter(([name]) => name.startsWith(extraPrefix))
      .map(([name, values = []]) => [unescaped(name.slice(extraPrefix.length)), values.map(utf8)]),
  );
  if (username) return { username, uid, groups, extra };
  if (groups.length > 0 || uid || Object.keys(extra).length > 0)
    throw badRequest('requested groups, a uid or extras without impersonating a user name');
  return undefined;
}

/** Decodes a header, whose bytes Node reads as one code unit each. */
const utf8 = (value: string) => Buffer.from(value, 'latin1').toString();

/** Returns text that does not decode unchanged. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function serviceAccountOf(username: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  return namespace && name ? { namespace, name } : undefined;
}

function questionsOf({ username, uid, groups, extra }: Impersonation): AccessAttributes[] {
  const account = serviceAccountOf(username);
  const core = { verb: 'impersonate', group: '', version: 'v1' };
  const authentication = { verb: 'impersonate', group: 'authentication.k8s.io', version: 'v1' };
  return [
    account ? { ...core, resource: 'serviceaccounts', ...account } : { ...core, resource: 'users', name: username },
    ...groups.map((name) => ({ ...core, resource: 'groups', name })),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: 'userextras', subresource, name })),
    ),
    ...(uid ? [{ ...authentication, resource: 'uids', name: uid }] : []),
  ];
}

function effectiveGroups({ username, groups }: Impersonation): string[] {
  const account = serviceAccountOf(username);
  const base = account && groups.length === 0 ? ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`] : groups;
  const implied = username === anonymous.username ? 'system:unauthenticated' : 'system:authenticated';
  return base.includes('system:authenticated') || base.includes('system:unauthenticated') ? base : [...base, implied];
}

/** 403 with the text of the API server. */
export const forbiddenAccess = ({ username: user }: UserInfo, { verb, path, group = '', resource = '', ...rest }: AccessAttributes) =>
  path === undefined ? forbidden({ ...rest, user, verb, group, resource }) : forbiddenPath({ user, verb, path });
