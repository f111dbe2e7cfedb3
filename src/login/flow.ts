import { z } from 'zod';

const stepUpSchema = z.object({
  /** Seconds. */
  maxAge: z.number().exactOptional(),
  acrValues: z.array(z.string()).exactOptional(),
  /** Who was logged in when it was asked for, and where. */
  iss: z.string().exactOptional(),
  sub: z.string().exactOptional(),
});
export type StepUp = Readonly<z.output<typeof stepUpSchema>>;

/** What a login is to be linked to, when it is a proof of a further account. */
const flowLinkSchema = z.object({
  /** Name of the Session that it was begun in. */
  session: z.string(),
  user: z.string(),
  userUID: z.string(),
});
export type FlowLink = Readonly<z.output<typeof flowLinkSchema>>;

/** Between the login request and the callback; nothing of it is stored here, it travels in a cookie (docs/contract/login.md). */
export interface Flow {
  /** The issuer that it began at. */
  readonly iss: string;
  /** Each of the three holds 256 random bits. */
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636) */
  readonly verifier: string;
  readonly redirectURL: string;
  /** A path of the front-end. */
  readonly returnTo?: string;
  readonly tokenStorage: 'cookie' | 'local';
  /** What the login that comes back has to be. */
  readonly stepUp?: StepUp;
  readonly link?: FlowLink;
  /** Unix seconds. */
  readonly startedAt: number;
}

export const flowSeconds = 600;
/** Replicas may disagree so much about the time. */
const leewaySeconds = 60;

const sealedFlow = z.object({
  iss: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectURL: z.string(),
  returnTo: z.string().exactOptional(),
  tokenStorage: z.enum(['cookie', 'local']),
  stepUp: stepUpSchema.exactOptional(),
  link: flowLinkSchema.exactOptional(),
  startedAt: z.number(),
});

export const writeFlow = (flow: Flow): string => JSON.stringify(flow);

/**
 * Only a replica can have sealed the text.
 *
 * @returns undefined for what another release has written otherwise: the login begins again
 */
export const readFlow = (text: string): Flow | undefined => sealedFlow.safeParse(JSON.parse(text)).data;

/** Whether it may still end; one from the future was begun by a wrong clock. */
export function isCurrent({ startedAt }: Flow, now: Date): boolean {
  const age = now.getTime() / 1000 - startedAt;
  return age >= -leewaySeconds && age <= flowSeconds;
}

/** When the last replica takes it for over. */
export const endOfFlow = ({ startedAt }: Flow): Date => new Date((startedAt + flowSeconds + 2 * leewaySeconds) * 1000);
