import type { Misbehaviour } from '../../login/provider/misbehaviour.ts';
import { flipSignature, type TokenChange } from '../../login/provider/tokens.ts';

type Place = 'redeemed' | 'frontChannel';

const faults: Record<string, TokenChange> = {
  'invalid-iss': { claims: { iss: 'https://other.example/tenant' } },
  'missing-sub': { claims: { sub: undefined } },
  'invalid-aud': { claims: { aud: 'another-client' } },
  'missing-iat': { claims: { iat: undefined } },
  'invalid-sig-rs256': { spoil: flipSignature },
  'nonce-invalid': { claims: { nonce: 'not-the-nonce-of-this-flow' } },
};

/** Returns the modules of every profile about an invalid ID token, by the end of their name. */
export const idTokenFaults = (place: Place): [name: string, Misbehaviour][] =>
  Object.entries(faults).map(([name, change]) => [`oidcc-client-test-${name}`, { [place]: change }]);

export const withoutKeyID: Misbehaviour = { idToken: { header: { kid: undefined } } };
