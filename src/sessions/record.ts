import { hash } from 'node:crypto';
import { z } from 'zod';
import type { IssuerLogin } from '../issuer/login.ts';
import type { TokenSet } from '../issuer/types.ts';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import { type LoginFacts, loginFactsSchema } from './login-facts.ts';

export const sessionResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'sessions' };
export const sessionApiVersion = 'auth.platform.io/v1';

/**
 * Who renews the tokens of a session at the moment: a random value that the replica writes before it goes to the issuer. It holds no
 * time, because clocks differ; how long others respect it they measure from when they first saw it.
 */
export const renewalAnnotation = 'auth.platform.io/renewal';
/** What the issuer calls the login, as `IssuerLogin` has it; sessions made before there were logout tokens have neither. */
const sidLabel = 'auth.platform.io/session.sid';
const subLabel = 'auth.platform.io/session.sub';
/** What the value ends with when the issuer could not be reached. */
const failedSuffix = '.failed';

/** What is kept of a Session object. Times are milliseconds since 1970, but for those of `clock`. */
export interface SessionRow {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Name of the User record. */
  readonly user: string;
  /** Missing if there was no record at login. */
  readonly userUID: string | undefined;
  readonly subjectName: string;
  /** Address and name of the browser; '' if they are not known. */
  readonly source: string;
  readonly userAgent: string;
  readonly labels: Readonly<Record<string, string>>;
  /** JSON text of what is shown of it. */
  readonly text: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Never after the absolute end. */
  readonly idleExpiresAt: number;
  /** The two ends by `clock`, as they were when this replica first saw them: a wall clock that is put back does not move them. */
  readonly endsAt: number;
  readonly idleEndsAt: number;
  /** Undefined if it was made before that was written down. */
  readonly login: IssuerLogin | undefined;
  readonly sealed: string;
  /** By `clock`: when this replica first saw this `sealed`. */
  readonly sealedSeenAt: number;
  readonly renewal: Renewal | undefined;
}

export interface Renewal {
  readonly id: string;
  readonly hasFailed: boolean;
  /** By `clock`: when this replica first saw it. */
  readonly seenAt: number;
}

const time = z.iso.datetime({ offset: true });

const sessionSpec = z.object({
  user: z.string(),
  userUID: z.string().optional(),
  subjectName: z.string().optional(),
  createdAt: time,
  expiration: time,
  idleExpiration: time.optional(),
  source: z.string().optional(),
  userAgent: z.string().optional(),
  sealed: z.string(),
});

/** This moment, by the wall clock in milliseconds since 1970, and by one that only ever grows. */
export interface Moment {
  readonly now: number;
  readonly clock: number;
}

/**
 * @param old what was kept of the object before
 * @returns undefined for one that is being deleted: it has ended, whatever still holds it
 * @throws ZodError for an object that its definition would not let in
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

/** The labels of a session that is made. */
export const loginLabels = ({ sid, sub }: IssuerLogin): Record<string, string> => ({
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

/** For the audit trail: who acts, and the User record that it is about. */
export const whoseSession = ({ subjectName, user, userUID = '' }: SessionRow) => ({
  actor: { name: subjectName, uid: '' },
  target: { name: user, uid: userUID },
});

/** The annotation that tells other replicas to leave the issuer alone for a moment. */
export const failedRenewal = (id: string): string => `${id}${failedSuffix}`;

/** Name of the Session that a cookie stands for: it can be found with the cookie, the cookie not from it. */
export const sessionName = (secret: string): string => `s-${hash('sha256', secret)}`;

/** What only the replicas may read. */
export interface SessionSecrets {
  readonly tokens: TokenSet;
  /** What the interface calls the `refresh_token` of a session. */
  readonly handle: string;
  readonly login: LoginFacts;
  /** The one before, and when it was replaced, in milliseconds since 1970. */
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

/** As text, to be sealed. The name goes along, so that what was sealed for one session is nothing in another. */
export function writeSecrets(session: string, { tokens, ...rest }: SessionSecrets): string {
  const { bearer, ...others } = tokens;
  return JSON.stringify({ session, ...rest, bearer: bearer === tokens.accessToken ? 'access_token' : 'id_token', tokens: others });
}

/** Undefined if it was written for another session. */
export function readSecrets(session: string, text: string): SessionSecrets | undefined {
  const result = sealedSecrets.safeParse(JSON.parse(text));
  if (!result.success || result.data.session !== session) return undefined;
  const { tokens, bearer, handle, login, previous } = result.data;
  const token = bearer === 'access_token' ? (tokens.accessToken ?? tokens.idToken) : tokens.idToken;
  return { handle, login, ...(previous && { previous }), tokens: { ...tokens, bearer: token } };
}
