/** Tokens in answers, and sessions in lists (docs/contract/login.md, users.md and teams.md). Sealed data is left out. */
import { timestampOf } from '@atrium/kubernetes/clock.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { objectMeta } from '@atrium/objects/object-schemas.ts';
import type { RenewedTokens, TokenSet } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import { type SessionRow, type SessionSecrets, sessionApiVersion } from './record.ts';

const sessionTokens = {
  token_type: 'Bearer',
  refresh_token: 'Yw3kq9oJ4l0b8Vt2Zr6xN1mC5sEaHdGfUiPyTjQvKBo',
  issued_at: '2026-03-01T11:00:00Z',
  expire_at: '2026-03-01T11:15:00Z',
  token_storage: 'cookie',
};

/** Tokens in responses of the API (docs/contract/login.md). */
export const renewPayload = z
  .object({
    token_type: z.literal('Bearer'),
    access_token: z.string().exactOptional().describe('Bearer token. Not returned with `cookie`.'),
    id_token: z.string().exactOptional(),
    refresh_token: z
      .string()
      .exactOptional()
      .describe('Renews and ends the login at this service only. With `cookie`, valid only together with the cookie of the session.'),
    issued_at: z.iso.datetime(),
    expire_at: z.iso.datetime(),
    token_storage: z.enum(['cookie', 'local']),
  })
  .meta({
    id: 'RenewPayload',
    examples: [
      sessionTokens,
      {
        token_type: 'Bearer',
        access_token: 'eyJhbGciOi…',
        id_token: 'eyJhbGciOi…',
        refresh_token: 'k1.3q2-7wZc…',
        issued_at: '2026-03-01T11:00:00Z',
        expire_at: '2026-03-01T12:00:00Z',
        token_storage: 'local',
      },
    ],
  });

/** Payload after a logout. */
export const endedPayloadSchema = renewPayload.meta({
  examples: [{ token_type: 'Bearer', token_storage: 'cookie', issued_at: '2026-03-01T11:00:00Z', expire_at: '2026-03-01T11:42:10Z' }],
});

export type RenewPayload = z.output<typeof renewPayload>;

/** Tokens in a request for renewal or logout. */
export interface GivenTokens {
  refresh_token: string;
  id_token?: string | undefined;
}

/** Returns the payload of a session, whose tokens do not leave the service. */
export const sessionPayload = ({ tokens, handle }: Pick<SessionSecrets, 'tokens' | 'handle'>): RenewPayload => ({
  token_type: 'Bearer',
  refresh_token: handle,
  issued_at: timestampOf(tokens.issuedAt),
  expire_at: timestampOf(tokens.bearerExpiresAt),
  token_storage: 'cookie',
});

/** Returns tokens for a caller who stores them, with their seal. Without a new credential, the old one remains valid until it expires. */
export const localPayload = (tokens: TokenSet | RenewedTokens, seal: string): RenewPayload => ({
  token_type: 'Bearer',
  ...(tokens.bearer !== undefined && { access_token: tokens.bearer }),
  ...(tokens.idToken !== undefined && { id_token: tokens.idToken }),
  refresh_token: seal,
  issued_at: timestampOf(tokens.issuedAt),
  expire_at: timestampOf(tokens.bearerExpiresAt ?? tokens.issuedAt),
  token_storage: 'local',
});

/** Returns the payload after a logout, without tokens. */
export const endedPayload = (storage: RenewPayload['token_storage'], { issuedAt, now }: { issuedAt: number; now: Date }): RenewPayload => ({
  token_type: 'Bearer',
  issued_at: timestampOf(issuedAt),
  expire_at: timestampOf(now.getTime() / 1000),
  token_storage: storage,
});

const shownSpec = z.object({
  user: z.string().describe('Name of the User record.'),
  subjectName: z.string().optional().describe('The user name that Kubernetes sees.'),
  createdAt: z.iso.datetime().describe('Time of the login.'),
  expiration: z.iso.datetime().describe('Absolute expiry.'),
  idleExpiration: z.iso.datetime().optional().describe('Expiry without use.'),
  source: z.string().optional().describe('Address of the browser.'),
  userAgent: z.string().optional().describe('Name of the browser.'),
  agent: z
    .object({
      client: z.string().describe('Client id at the embedded issuer.'),
      name: z.string().describe('Name that the program gives itself.'),
      host: z.string().describe('Host that describes the program; empty for a client of the configuration.'),
      direct: z.string().optional().describe('Digest of `mcp.direct`, if the user has allowed these changes without a confirmation.'),
    })
    .optional()
    .describe('Program that reads as the user by MCP. Missing for a session of a browser.'),
});

const example = {
  apiVersion: sessionApiVersion,
  kind: 'Session',
  metadata: {
    name: `s-${'5c'.repeat(32)}`,
    uid: '0b0f0f6e-3f9c-4a53-8b1f-6a1d8f2f4a11',
    resourceVersion: '51702',
    creationTimestamp: '2026-03-01T11:00:00Z',
  },
  spec: {
    user: '8c87b489ce35cf2e2f39f80e282cb2e8',
    subjectName: 'jane@example.com',
    createdAt: '2026-03-01T11:00:00Z',
    expiration: '2026-03-08T11:00:00Z',
    idleExpiration: '2026-03-01T23:00:00Z',
    source: '198.51.100.7',
    userAgent: 'Mozilla/5.0',
  },
  current: true,
};

export const sessionSchema = z
  .object({
    apiVersion: z.literal(sessionApiVersion),
    kind: z.literal('Session'),
    metadata: objectMeta,
    spec: shownSpec,
    current: z.literal(true).optional().describe('`true` for the session of this request.'),
  })
  .meta({ id: 'Session', examples: [example] });

export const sessionProperties: ListProperties<SessionRow> = {
  searched: new Map([
    ['name', ({ name }) => name],
    ['user', ({ user }) => folded(user)],
    ['subjectName', ({ subjectName }) => folded(subjectName)],
    ['source', ({ source }) => folded(source)],
    ['userAgent', ({ userAgent }) => folded(userAgent)],
  ]),
  search: ['user', 'subjectName', 'source', 'userAgent'],
  compared: new Map(),
  sorted: new Map<string, (row: SessionRow) => string | number>([
    ['name', ({ name }) => name],
    ['createdAt', ({ createdAt }) => createdAt],
    ['expiration', ({ expiresAt }) => expiresAt],
    ['idleExpiration', ({ idleExpiresAt }) => idleExpiresAt],
    ['source', ({ source }) => source],
    ['userAgent', ({ userAgent }) => userAgent],
  ]),
  selectable: new Map([
    ['metadata.name', ({ name }) => name],
    ['spec.user', ({ user }) => user],
  ]),
  defaultSort: 'd,createdAt',
};

/** Returns a function that marks the session of a request in its texts. */
export const markCurrent =
  (session: string) =>
  ({ name, text }: Pick<SessionRow, 'name' | 'text'>): string =>
    name === session ? `${text.slice(0, -1)},"current":true}` : text;
