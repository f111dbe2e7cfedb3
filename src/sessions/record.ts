import { hash } from 'node:crypto';
import { timestampOf } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { TokenSet } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import type { IssuerLogin } from '../issuer/login.ts';
import { userApiVersion } from '../users/record/schema.ts';
import { type LoginFacts, loginFactsSchema } from './login-facts.ts';

export const sessionResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'sessions' };
export const sessionKind = { type: sessionResource, kind: 'Session' } satisfies ResourceKind;
export const sessionApiVersion = 'auth.platform.io/v1';

/**
 * Claim of the replica that renews the tokens of a session: a random value that it writes before it calls the issuer. The value has no
 * time, because clocks differ; other replicas measure from when they first saw it.
 */
export const renewalAnnotation = 'auth.platform.io/renewal';
/** Names of the login at the issuer (`IssuerLogin`). Sessions from before the support of logout tokens have neither label. */
const sidLabel = 'auth.platform.io/session.sid';
const subLabel = 'auth.platform.io/session.sub';
/** Suffix of the claim after the issuer could not be reached. */
const failedSuffix = '.failed';

/** Cached data of a Session object. Times are milliseconds since 1970, except times by `clock`. */
export interface SessionRow {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Name of the User record. */
  readonly user: string;
  /** Missing if there was no record at login. */
  readonly userUID: string | undefined;
  readonly subjectName: string;
  /** Address and name of the browser; '' if unknown. */
  readonly source: string;
  readonly userAgent: string;
  /** Set for a session of an agent, which no cookie opens. */
  readonly agent: SessionAgent | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** JSON text for lists, without sealed data. */
  readonly text: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Never after the absolute expiry. */
  readonly idleExpiresAt: number;
  /** Both expiries by `clock`, from when this replica first saw them: a wall clock that is set back does not move them. */
  readonly endsAt: number;
  readonly idleEndsAt: number;
  /** Undefined for a session without these labels. */
  readonly login: IssuerLogin | undefined;
  readonly sealed: string;
  /** Time by `clock` at which this replica first saw this `sealed`. */
  readonly sealedSeenAt: number;
  readonly renewal: Renewal | undefined;
}

export interface Renewal {
  readonly id: string;
  readonly hasFailed: boolean;
  /** Time by `clock` at which this replica first saw the claim. */
  readonly seenAt: number;
}

const time = z.iso.datetime({ offset: true });

/** Program that a person has authorized. */
type SessionAgent = z.output<typeof sessionAgent>;

const sessionAgent = z.object({ client: z.string(), name: z.string(), host: z.string(), direct: z.string().optional() });

const sessionSpec = z.object({
  user: z.string(),
  userUID: z.string().optional(),
  subjectName: z.string().optional(),
  createdAt: time,
  expiration: time,
  idleExpiration: time.optional(),
  source: z.string().optional(),
  userAgent: z.string().optional(),
  agent: sessionAgent.optional(),
  sealed: z.string(),
});

/** Current time by the wall clock, in milliseconds since 1970, and by a monotonic clock. */
export interface Moment {
  readonly now: number;
  readonly clock: number;
}

/**
 * Converts a Session object to its cached row.
 *
 * @param old previous row of the object
 * @returns undefined for an object that is being deleted: the session has ended, even if a finalizer remains
 * @throws ZodError for an object that violates the resource definition
 */
export function sessionRow({ metadata, spec }: KubernetesObject, { now, clock }: Moment, old?: SessionRow): SessionRow | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const { sealed, userUID, ...shown } = sessionSpec.parse(spec);
  const { user, subjectName = '', source = '', userAgent = '', createdAt, expiration, idleExpiration = expiration } = shown;
  const { name, uid, resourceVersion, creationTimestamp, labels = {} } = metadata;
  const expiresAt = Date.parse(expiration);
  const idleExpiresAt = Math.min(Date.parse(idleExpiration), expiresAt);
  const endsAt = old?.expiresAt === expiresAt ? old.endsAt : clock + expiresAt - now;
  return {
    name,
    uid,
    resourceVersion,
    user,
    userUID: userUID || undefined,
    subjectName,
    source,
    userAgent,
    agent: shown.agent,
    labels,
    text: JSON.stringify({
      apiVersion: sessionApiVersion,
      kind: 'Session',
      metadata: { name, uid, resourceVersion, creationTimestamp, labels },
      spec: shown,
    }),
    createdAt: Date.parse(createdAt),
    expiresAt,
    idleExpiresAt,
    endsAt,
    idleEndsAt: Math.min(endsAt, old?.idleExpiresAt === idleExpiresAt ? old.idleEndsAt : clock + idleExpiresAt - now),
    login: loginIn(labels),
    sealed,
    sealedSeenAt: old?.sealed === sealed ? old.sealedSeenAt : clock,
    renewal: renewalOf(metadata.annotations?.[renewalAnnotation], clock, old?.renewal),
  };
}

interface NewSessionValues {
  name: string;
  source: string;
  userAgent: string | undefined;
  sealed: string;
  /** `login.session.idle` */
  idleMs: number;
  agent?: SessionAgent;
}

/** Returns the Session object of a new login. */
export function sessionObject(login: LoginFacts, { name, source, userAgent, sealed, idleMs, agent }: NewSessionValues) {
  const { user, userUID, subjectName, issuerLogin, at, expiresAt } = login;
  const owner = { apiVersion: userApiVersion, kind: 'User', name: user, uid: userUID };
  return {
    apiVersion: sessionApiVersion,
    kind: 'Session',
    metadata: { name, labels: loginLabels(issuerLogin), ...(userUID !== undefined && { ownerReferences: [owner] }) },
    spec: {
      user,
      ...(userUID !== undefined && { userUID }),
      subjectName,
      createdAt: timestampOf(at),
      expiration: timestampOf(expiresAt),
      idleExpiration: timestampOf(Math.min(at + idleMs / 1000, expiresAt)),
      source: source.slice(0, 64),
      userAgent,
      ...(agent && { agent }),
      sealed,
    },
  };
}

const loginLabels = ({ sid, sub }: IssuerLogin): Record<string, string> => ({
  ...(sid !== undefined && { [sidLabel]: sid }),
  ...(sub !== undefined && { [subLabel]: sub }),
});

function loginIn({ [sidLabel]: sid, [subLabel]: sub }: Record<string, string>): IssuerLogin | undefined {
  return sid === undefined && sub === undefined ? undefined : { sid, sub };
}

function renewalOf(value: string | undefined, clock: number, old: Renewal | undefined): Renewal | undefined {
  if (value === undefined) return undefined;
  const hasFailed = value.endsWith(failedSuffix);
  const id = hasFailed ? value.slice(0, -failedSuffix.length) : value;
  return old?.id === id && old.hasFailed === hasFailed ? old : { id, hasFailed, seenAt: clock };
}

/** Returns actor and target for the audit trail. */
export const auditSubjectOfSession = ({ subjectName, user, userUID = '' }: SessionRow) => ({
  actor: { name: subjectName, uid: '' },
  target: { name: user, uid: userUID },
});

/** Returns the claim that tells other replicas not to call the issuer for a moment. */
export const failedRenewal = (id: string): string => `${id}${failedSuffix}`;

/** Returns the name of the Session of a cookie. The cookie cannot be derived from the name. */
export const sessionName = (secret: string): string => `s-${hash('sha256', secret)}`;

/** Sealed data of a session, which only the replicas can read. */
export interface SessionSecrets {
  readonly tokens: TokenSet;
  /** Value of `refresh_token` in the API. */
  readonly handle: string;
  readonly login: LoginFacts;
  /** Previous handle, with the time of its replacement in milliseconds since 1970. */
  readonly previous?: { readonly handle: string; readonly replacedAt: number };
}

const claims = z.looseObject({ iss: z.string(), sub: z.string(), exp: z.number(), iat: z.number() });

const sealedSecrets = z.object({
  session: z.string(),
  handle: z.string(),
  previous: z.object({ handle: z.string(), replacedAt: z.number() }).exactOptional(),
  login: loginFactsSchema,
  bearer: z.enum(['access_token', 'id_token']),
  tokens: z.object({
    accessToken: z.string().exactOptional(),
    idToken: z.string(),
    refreshToken: z.string().exactOptional(),
    issuedAt: z.number(),
    bearerExpiresAt: z.number(),
    claims,
  }),
});

/** Returns the text to seal. The text includes the name, so that secrets of one session are invalid in another. */
export function writeSecrets(session: string, { tokens, ...rest }: SessionSecrets): string {
  const { bearer, ...others } = tokens;
  return JSON.stringify({ session, ...rest, bearer: bearer === tokens.accessToken ? 'access_token' : 'id_token', tokens: others });
}

/** Returns undefined if the text was written for another session. */
export function readSecrets(session: string, text: string): SessionSecrets | undefined {
  const result = sealedSecrets.safeParse(JSON.parse(text));
  if (!result.success || result.data.session !== session) return undefined;
  const { tokens, bearer, handle, login, previous } = result.data;
  const token = bearer === 'access_token' ? (tokens.accessToken ?? tokens.idToken) : tokens.idToken;
  return { handle, login, ...(previous && { previous }), tokens: { ...tokens, bearer: token } };
}
