/** Client certificates for the Kubernetes API. RBAC on `users/authorize` decides which callers get one. */
import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { isReservedGroup, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { kubeconfigText, publicCluster } from '@atrium/kubernetes/kubeconfig-text.ts';
import { badParameter, notFound, StatusError } from '@atrium/objects/status.ts';
import { groupsPrefixOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Services } from '../services.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { Account } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { isLocalGroupName } from '../users/record/local-groups.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { type CertificateRequest, certificateBody, type UserCertificate, userCertificate } from './schema.ts';
import { sign } from './signer.ts';

/** Dependencies of the feature. */
interface CertificatesContext {
  readonly services: Services;
  readonly accounts: AccountLookup;
  /** Connection to the API server, which the kubeconfig of the certificate names. */
  readonly connection: Connection;
}

/** Creates the operation of the feature. */
export function createCertificates(context: CertificatesContext): { operations: Operation[] } {
  const authorize = operation({
    id: 'Authorize',
    method: 'POST',
    paths: ['/auth/v1/authorize'],
    tag: 'users',
    summary: 'Issues a client certificate for the Kubernetes API to the caller, or for a user whom the caller may impersonate',
    description:
      'Kubernetes cannot revoke a certificate: it stays valid for a disabled user until it expires, and is therefore short-lived.',
    credential: 'required',
    body: certificateBody,
    answers: {
      201: {
        description: 'The certificate. A key that the service created is never returned again.',
        content: { 'application/json': userCertificate },
      },
      403: { description: 'RBAC denies it, the cluster denies the request, or the request names another user or group.' },
      404: { description: 'The user does not exist, or certificates are disabled (`users.certificates.enabled`).' },
    },
    async handle({ ctx, caller, body, signal }) {
      const { certificate, account } = await issueCertificate(context, body.spec, caller, signal);
      context.services.audit.recordWrite(ctx, caller, { audit: 'CertificateIssued', ...(account && { target: account }), code: 201 });
      ctx.status = 201;
      ctx.body = certificate;
    },
  });
  return { operations: [authorize] };
}

interface Issued {
  certificate: UserCertificate;
  /** Owner of the certificate; undefined for a caller without a User record. */
  account: Account | undefined;
}

/**
 * Issues a client certificate for the Kubernetes API by the signer of the cluster. Kubernetes cannot revoke certificates, so they are
 * short-lived.
 *
 * @throws StatusError 400, 403, 404, 503, 504
 */
async function issueCertificate(
  context: CertificatesContext,
  spec: CertificateRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<Issued> {
  const { client, config, now } = context.services;
  const { enabled, signerName, maxSeconds } = config.users.certificates;
  if (!enabled) throw new StatusError(404, 'NotFound', 'client certificates are disabled (users.certificates.enabled)');
  requireNoAccessToken('certificates', caller);
  const person = await personOf(spec, caller, context, signal);
  requireRecentLogin('certificates', caller, config.login.stepUp, now());
  // The X.509 library is loaded with the first request for a certificate.
  const { readCertificate } = await import('./signing-request.ts');
  const { request, key } = await requestOf(spec, person);
  const user = person.account?.name;
  const expirationSeconds = Math.min(spec.expirationSeconds, maxSeconds);
  const { name, certificate } = await sign(client, { user, request, signerName, expirationSeconds }, signal);
  const { subject, serialNumber, notBefore, notAfter } = readCertificate(certificate);
  const cluster = publicCluster(context.connection, config.kubernetes);
  const { subjectName } = person;
  return {
    account: person.account,
    certificate: {
      apiVersion: 'auth.platform.io/v1',
      kind: 'UserCertificate',
      metadata: { name },
      spec: { expirationSeconds, ...(user !== undefined && { user }) },
      status: {
        subject: { commonName: subject.commonName, organizations: [...subject.organizations] },
        certificate,
        ...(key !== undefined && { key }),
        certificateAuthority: cluster.certificateAuthority,
        serialNumber,
        notBefore: timestamp(notBefore),
        notAfter: timestamp(notAfter),
        kubeconfig: kubeconfigText({ ...cluster, user: subjectName, credential: { certificate, key }, namespace: spec.namespace }),
      },
    },
  };
}

/** Returns the request of the caller, or a new one with its key. @throws StatusError 400, 403 */
async function requestOf({ request: text }: CertificateRequest, person: Person): Promise<{ request: string; key?: string }> {
  const { checkRequest, makeRequest } = await import('./signing-request.ts');
  const { subjectName, groups } = person;
  if (text === undefined) return makeRequest({ commonName: subjectName, organizations: groups });
  const judged = await checkRequest(text);
  if ('problem' in judged) throw badParameter('spec.request', judged.problem);
  const { request, subject } = judged;
  if (subject.commonName !== subjectName) throw refused('the request names another user');
  if (!subject.organizations.every((group) => groups.includes(group)))
    throw refused('the request names groups that are not those of the user');
  return { request };
}

/** Owner of the requested certificate. */
interface Person {
  /** Undefined for a caller without a User record. */
  account: Account | undefined;
  subjectName: string;
  groups: readonly string[];
}

/**
 * Returns the user that a request is about, with the groups that the certificate names, if the caller may have such a certificate.
 *
 * @throws StatusError 403, 404, 503
 */
async function personOf(
  { user, groups }: CertificateRequest,
  caller: Caller,
  context: CertificatesContext,
  signal: AbortSignal,
): Promise<Person> {
  const { services, accounts } = context;
  const { access, config } = services;
  const now = services.now();
  requireAccounts(accounts);
  const own = ownAccount(accounts, caller);
  const name = user ?? own?.name;
  await access.require(caller, { ...userResource, subresource: 'authorize', verb: 'create', ...(name !== undefined && { name }) }, signal);
  if (name === own?.name) return person(own, caller.identity.name, chosen(caller.identity.groups, groups), { config, now });

  const account = accounts.get(name ?? '');
  if (account === undefined) throw notFound(userResource, name ?? '');
  const impersonation = { group: '', verb: 'impersonate' };
  await access.require(caller, { ...impersonation, resource: 'users', name: account.subjectName || account.email }, signal);
  const prefix = groupsPrefixOf(config, account);
  const theirs = account.groups.map((group) => prefix + group);
  const found = person(account, account.subjectName, chosen(theirs, groups), { config, now });
  await Promise.all(found.groups.map((group) => access.require(caller, { ...impersonation, resource: 'groups', name: group }, signal)));
  return found;
}

/** Builds the 403 about the content of a request. */
const refused = (message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { group: userResource.group, kind: userResource.resource } });

/** @throws StatusError 403 for a name of Kubernetes itself, and for a user who could not log in */
function person(
  account: Account | undefined,
  subjectName: string,
  groups: readonly string[],
  { config, now }: { config: Config; now: Date },
): Person {
  const { phase } = account ? phaseOf(account, now, config.users.idleDays) : { phase: 'Normal' };
  if (phase === 'Disabled' || phase === 'Invalid') throw refused(`the user is ${phase}: no certificate can be issued`);
  if (subjectName === '') throw refused('the user has never logged in: no certificate can be issued');
  if (isReservedName(subjectName)) throw refused(`${JSON.stringify(subjectName)} is reserved for Kubernetes: no certificate can be issued`);
  return { account, subjectName, groups };
}

/** @throws StatusError 403 for groups that the user does not have, or that no certificate may name */
function chosen(groups: readonly string[], asked: readonly string[] | undefined): readonly string[] {
  // Local groups are in tokens, which end with the account and the membership; a certificate would outlive both.
  const theirs = [...new Set(groups)].filter((group) => !isReservedGroup(group) && !isLocalGroupName(group));
  const foreign = asked?.find((group) => !theirs.includes(group));
  if (foreign !== undefined) throw refused(`${JSON.stringify(foreign)} is not a group that a certificate of this user may name`);
  return asked === undefined ? theirs : [...new Set(asked)];
}
