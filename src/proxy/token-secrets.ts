/**
 * A Secret of the type `kubernetes.io/service-account-token` gets a token without expiry, in any namespace. A Secret of the type
 * `bootstrap.kubernetes.io/token` is itself a token, with which a node joins. Only the body of a write shows the type.
 */
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { StatusError } from '../api/status.ts';
import { requestBody } from '../http/unfinished-bodies.ts';
import type { PassedCall } from '../kubernetes/passage.ts';

type Body = NonNullable<PassedCall['body']>;

/** Bound of a body: the API server accepts 1 MiB of data in a Secret, which the body holds in base64. */
const maxSecretBytes = 1.5 * 1024 * 1024;

/** Types, the annotation for the account, and the entry of a bootstrap token, also in a path of a JSON Patch. */
const tokenSecret = /kubernetes\.io(?:\\?\/|~1)(?:service-account|token)|(?<![-\w.])token-secret(?![-\w.])/;
/** Escapes of letters, which encoders do not write and which could hide the type. */
const jsonEscape = /\\u00(?:2[d-f]|31|[67][0-9a-f])/i;
/** Escapes in YAML, which has more of them, folds lines within them, and decodes base64 for a tag. */
const yamlEscape = /\\[^"\\bfnrt]|!/;

const jsonType = /^application\/(?:[-a-z]+\+)?json$/;
const yamlTypes = ['application/yaml', 'application/apply-patch+yaml'];

/**
 * Reads the body of a write of a Secret.
 *
 * @param refusal thrown for a token Secret, and for a body that cannot be read: protobuf, CBOR, unusual escapes, over 1.5 MiB
 * @returns the body to send on
 */
export async function withoutTokenSecret({ req }: Context, refusal: StatusError): Promise<Body> {
  const [mediaType = ''] = (req.headers['content-type'] ?? 'application/json').split(';', 1);
  const type = mediaType.trim().toLowerCase();
  const hiding = jsonType.test(type) ? jsonEscape : yamlTypes.includes(type) ? yamlEscape : undefined;
  if (hiding === undefined) throw refusal;
  const bytes = await read(requestBody(req, maxSecretBytes), refusal);
  // Latin-1 maps each byte to a character, and keeps ASCII. UTF-16 has a zero byte for each ASCII character.
  const text = bytes.toString('latin1');
  if (text.includes('\0') || tokenSecret.test(text) || hiding.test(text)) throw refusal;
  return { stream: Readable.from([bytes], { objectMode: false }), length: bytes.length };
}

async function read(body: Readable, refusal: StatusError): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch {
    // The body is too large, or was aborted.
    throw refusal;
  }
  return Buffer.concat(chunks);
}
