import * as client from 'openid-client';

/** Place of the client secret in a request (OpenID Connect Core 9): an HTTP Basic header, or the body. */
export type SecretTransport = 'basic' | 'post';

interface ClientSecret {
  /** Undefined for a public client. */
  secret: string | undefined;
  /** Basic is replaced by the body if the issuer offers nothing else. */
  transport: SecretTransport;
  /** `token_endpoint_auth_methods_supported` of the issuer; HTTP Basic is the default (OpenID Connect Discovery 3). */
  offered: readonly string[] | undefined;
}

/** Returns the authentication of this client at the issuer. */
export function clientAuthentication({ secret, transport, offered = ['client_secret_basic'] }: ClientSecret): client.ClientAuth {
  if (secret === undefined) return client.None();
  const isPostAlone = !offered.includes('client_secret_basic') && offered.includes('client_secret_post');
  return transport === 'post' || isPostAlone ? client.ClientSecretPost(secret) : secretInHeader(secret);
}

/**
 * Sends the secret by HTTP Basic. openid-client encodes `-`, `_`, `.` and `~` too, and not every issuer decodes the header: a secret of
 * these and alphanumeric characters needs no encoding, and is sent as it is.
 */
const secretInHeader =
  (secret: string): client.ClientAuth =>
  (_issuer, { client_id: id }, _body, headers) => {
    const credentials = Buffer.from(`${formEncode(id)}:${formEncode(secret)}`).toString('base64');
    headers.set('authorization', `Basic ${credentials}`);
  };

/** Encodes for `application/x-www-form-urlencoded` (RFC 6749, 2.3.1), with the unreserved characters of RFC 3986 as they are. */
const formEncode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
