import { z } from 'zod';
import type { RenewedTokens, TokenSet } from '../issuer/types.ts';
import { timestampOf } from '../kubernetes/clock.ts';
import type { SessionSecrets } from './record.ts';

const ofSession = {
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
      ofSession,
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
