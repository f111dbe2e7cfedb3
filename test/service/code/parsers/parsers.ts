/** Every parser of callers' text, with the maximum length of its input. A new parser is one line of `parsers`. */
import { generateKeyPairSync } from 'node:crypto';
import { decodeJson } from '@atrium/http/body.ts';
import { clientAddress, networkOf } from '@atrium/http/client-address.ts';
import { CookieFamily, cookieNames, hostCookie, isSecret } from '@atrium/http/cookies/cookies.ts';
import { chooseEncoding, isHashedName } from '@atrium/http/middleware/representation.ts';
import { KeySeal } from '@atrium/http/seal.ts';
import { sendStaticFile } from '@atrium/http/static/answer.ts';
import { staticPath } from '@atrium/http/static/set.ts';
import { readTraceParent } from '@atrium/http/telemetry/tracing.ts';
import { WebSocketFrames } from '@atrium/http/websocket.ts';
import { passedHeaders } from '@atrium/kubernetes/passage.ts';
import { isTrue, targetOf } from '@atrium/kubernetes/request-target.ts';
import { ContinueTokens } from '@atrium/lists/page.ts';
import { parseFilters, parseSearch, selectionPredicate } from '@atrium/lists/query.ts';
import { comparator, parseSort } from '@atrium/lists/sort.ts';
import { mergePatchOf } from '@atrium/objects/json-patch.ts';
import { isVersionAsked, warningHeaders } from '@atrium/objects/write-options.ts';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { Context } from 'koa';
import { checkRequest } from '../../../../src/certificates/signing-request.ts';
import { parseConfig } from '../../../../src/config/load.ts';
import { indexOfCode, isRecoveryCode, newRecoveryCodes } from '../../../../src/factors/recovery-codes.ts';
import { readAssertion, readAttestation } from '../../../../src/factors/webauthn.ts';
import { languageChoice } from '../../../../src/identity/page.ts';
import { ResourceRow, rowProperties } from '../../../../src/listed-resources/row.ts';
import { FlowCookies } from '../../../../src/login/flow.ts';
import { openLink } from '../../../../src/one-time-links/links.ts';
import { restOfPath } from '../../../../src/plugins/forwarding.ts';
import { Translations } from '../../../../src/texts/texts.ts';
import { readToken } from '../../../../src/tokens/token-text.ts';
import { passwordProblems } from '../../../../src/users/passwords/policy.ts';
import { bodyParsers, queryParsers } from './operations.ts';
import { KiB, MiB, type Parser } from './parser.ts';
import { contextOf, sendThroughFrame, takesUpgrade } from './requests.ts';

/** Includes a bearer token. Headers without one are refused above 16 KiB, after the request chain has read them. */
const header = 64 * KiB;

const seal = new KeySeal({ kid: 'key', secret: new Uint8Array(32).fill(1) }, 'test');
const asSeal = { seal: (text: string) => seal.seal(text), open: async (text: string) => seal.open(text) };
const config = parseConfig({ yaml: 'server: { publicURL: https://console.example.com }' });
const now = () => new Date();

/** Rows that a filter tests in one turn of the event loop. */
const rows = Array.from({ length: 4096 }, (_, index) => {
  const name = `object-${index}`;
  const metadata = {
    name,
    namespace: 'shop',
    uid: name,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { a: '1' },
  };
  return new ResourceRow({ apiVersion: 'v1', kind: 'Pod', metadata }, []);
});
const properties = rowProperties([]);

const continueTokens = new ContinueTokens({ seal: asSeal, now });
const keySet = createLocalJWKSet({
  keys: [{ ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }],
} as never);
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const base64 = (text: string) => Buffer.from(text).toString('base64url');
const recoveryCodes = newRecoveryCodes().kept;
const cookies = cookieNames('https://console.test');
const flows = new FlowCookies({ cookies, keyRing: { sealFor: () => asSeal } as never, now });
const family = new CookieFamily(cookies, { purpose: 'flow', maxBytes: 6 * 1024 });
const session = hostCookie(cookies, { purpose: 'session' });
const language = languageChoice(new Translations([{ id: 'en' }, { id: 'zh-Hans' }]));
const addressOf = clientAddress(['10.0.0.0/8', '::/0']);
const content = { size: 3, etag: '"a"', lastModified: 'Thu, 01 Jan 1970 00:00:00 GMT', modified: new Date(0), source: Buffer.from('abc') };
const file = { contentType: 'text/plain', isHtml: false, cacheControl: 'no-cache', content, compressed: { br: content, gzip: content } };
const lengthOf = (bytes: number) => [0x83, bytes >> 16, (bytes >> 8) & 0xff, bytes & 0xff];
const requestOfIntegers = (length: number) => {
  const der = Buffer.from([0x30, ...lengthOf(length), ...Buffer.alloc(length, Buffer.from([2, 1, 1]))]).toString('base64');
  return Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----`).toString('base64');
};
const withHeader = (name: string, use: (ctx: Context) => unknown) => (text: string) => use(contextOf({ headers: { [name]: text } }));
const selected = (labelSelector: string, fieldSelector: string) =>
  rows.filter(selectionPredicate(properties, { labelSelector, fieldSelector }) ?? (() => true));

const labelFrames = [
  ['', ''],
  ['a in (', ')'],
  ['a=', ''],
  ['a>', ''],
  ['!', ''],
] as const;

export const parsers: readonly Parser[] = [
  // The limit of the grammar, and the limit of a body.
  ...[8 * KiB, MiB].flatMap((limit): Parser[] => [
    { name: `label selector of ${limit}`, limit, frames: labelFrames, parse: (text) => selected(text, '') },
    {
      name: `field selector of ${limit}`,
      limit,
      frames: [
        ['', ''],
        ['metadata.name=', ''],
      ],
      parse: (text) => selected('', text),
    },
  ]),
  {
    name: 'frames of a WebSocket',
    limit: header,
    parse: (text) => new WebSocketFrames({ removedLength: 12, isRemoved: () => false }).take(Buffer.from(text, 'latin1')),
  },
  // The maximum number of requirements, which every object meets.
  {
    name: 'requirements of labels',
    limit: 100,
    parse: ({ length }) => selected(Array.from({ length }, (_, index) => `a!=b${index}`).join(), ''),
  },
  {
    name: 'requirements of fields',
    limit: 100,
    parse: ({ length }) => selected('', Array.from({ length }, (_, index) => `metadata.name!=b${index}`).join()),
  },
  {
    name: 'pairs of a filter',
    limit: 32,
    parse: ({ length }) =>
      rows.filter(
        parseFilters(
          properties,
          Array.from({ length }, () => 'name,0'),
        ) ?? (() => true),
      ),
  },
  {
    name: 'filter',
    limit: header,
    frames: [
      ['', ''],
      ['name,', ''],
    ],
    parse: (text) => rows.filter(parseFilters(properties, [text]) ?? (() => true)),
  },
  { name: 'search', limit: header, parse: (text) => rows.filter(parseSearch(properties, text) ?? (() => true)) },
  {
    name: 'order',
    limit: header,
    frames: [
      ['', ''],
      ['a,namespace,a,name,', ''],
    ],
    parse: (text) => rows.toSorted(comparator(parseSort(properties, text, 'asc'))),
  },
  {
    name: 'continue token',
    limit: header,
    frames: [
      ['', ''],
      ['key.', ''],
    ],
    parse: (text) => continueTokens.read(text, ''),
  },
  { name: 'JSON', limit: MiB, kind: 'json', parse: decodeJson },
  {
    name: 'JSON Patch',
    limit: MiB,
    kind: 'json',
    frames: [
      ['', ''],
      ['[{"op":"add","path":"/', '","value":0}]'],
    ],
    parse: (text) => mergePatchOf(decodeJson(text), { group: '', kind: '' }),
  },
  {
    name: 'certificate request',
    limit: MiB,
    frames: [
      ['', ''],
      ['-----BEGIN CERTIFICATE REQUEST-----', '-----END CERTIFICATE REQUEST-----'],
    ],
    parse: (text) => checkRequest(Buffer.from(text.slice(0, 192 * KiB)).toString('base64')),
  },
  { name: 'certificate request of small elements', limit: 128 * KiB, parse: ({ length }) => checkRequest(requestOfIntegers(length)) },
  { name: 'certificate request, not in base64', limit: 256 * KiB, parse: checkRequest },
  {
    name: 'one-time link',
    limit: header,
    frames: [
      ['', ''],
      ['key.', ''],
    ],
    parse: (text) => openLink(asSeal, text),
  },
  {
    name: 'access token',
    limit: MiB,
    frames: [
      ['', ''],
      ['cat_', ''],
    ],
    parse: readToken,
  },
  { name: 'secret of a session', limit: header, parse: isSecret },
  {
    name: 'JWT',
    limit: header,
    frames: [
      ['', ''],
      ['a.', '.b'],
    ],
    parse: (text) => jwtVerify(text, keySet),
  },
  {
    name: 'header of a JWT',
    limit: 40 * KiB,
    kind: 'json',
    frames: [
      ['', ''],
      ['{"alg":"ES256","kid":"', '"}'],
      ['{"alg":"ES256","kid":"one","x":', '}'],
    ],
    parse: (text) => jwtVerify(`${base64(text)}.${base64('{}')}.${base64('a'.repeat(64))}`, keySet),
  },
  { name: 'recovery code', limit: 32 * KiB, parse: (text) => isRecoveryCode(text) || indexOfCode(recoveryCodes, text) },
  { name: 'answer of a passkey', limit: 32 * KiB, kind: 'json', parse: (text) => readAssertion(text) ?? readAttestation(text) },
  {
    name: 'new password',
    limit: 32 * KiB,
    parse: (text) => passwordProblems(text, { email: 'jane@example.com', username: 'Jane Doe' }, config.users.passwordPolicy),
  },
  { name: 'form', limit: 32 * KiB, parse: (text) => [...new URLSearchParams(text)] },
  {
    name: 'precondition',
    limit: header,
    frames: [
      ['', ''],
      ['"', '"'],
    ],
    parse: (text) => isVersionAsked({ uid: '', resourceVersion: '1' }, undefined, text),
  },
  { name: 'text of a warning', limit: MiB, parse: (text) => warningHeaders([text, text]) },
  // Paths.
  {
    name: 'path of a file',
    limit: header,
    frames: [
      ['/', ''],
      ['http://', ''],
    ],
    parse: (text) => staticPath(text, ''),
  },
  {
    name: 'path of the Kubernetes API',
    limit: header,
    frames: [
      ['/api/kubernetes/', ''],
      ['/api/kubernetes/a?', ''],
      ['http://', ''],
    ],
    parse: (text) => targetOf({ originalUrl: text, req: {} } as Context, '/api/kubernetes'),
  },
  { name: 'flag in a query', limit: header, parse: (text) => isTrue(text, 'watch') },
  { name: 'traceparent', limit: header, parse: (text) => readTraceParent({ traceparent: text }) },
  { name: 'tracestate', limit: header, parse: (text) => readTraceParent({ traceparent, tracestate: text }) },
  {
    name: 'path behind a plugin',
    limit: header,
    frames: [
      ['/api/proxy/', ''],
      ['http://', ''],
    ],
    parse: (text) => restOfPath(text, 2),
  },
  { name: 'name of a file with a hash', limit: 2 * KiB, parse: isHashedName },
  {
    name: 'path of an operation',
    limit: header,
    frames: [
      ['/', ''],
      ['/auth/v1/users/', ''],
      ['/openapi/v3?', ''],
      ['/api/v2/resources/', ''],
      ['//', ''],
    ],
    parse: (text) => sendThroughFrame({ url: text.replaceAll(/[^!-~]/g, '%41') }),
  },
  // Headers that the request chain reads on each request, and some of single operations.
  ...[
    'accept',
    'accept-encoding',
    'accept-language',
    'authorization',
    'cookie',
    'origin',
    'host',
    'x-forwarded-for',
    'x-request-id',
    'if-none-match',
    'if-modified-since',
    'range',
    'content-type',
    'user-agent',
    'connection',
    'upgrade',
    'access-control-request-method',
    'x-made-up',
  ].map(
    (name): Parser => ({
      name: `header ${name}`,
      limit: header,
      frames:
        name === 'authorization'
          ? [
              ['', ''],
              ['Bearer ', ''],
            ]
          : [['', '']],
      parse: (text) => sendThroughFrame({ url: '/openapi/v3', headers: { [name]: text } }),
    }),
  ),
  {
    name: 'header If-Range',
    limit: header,
    parse: (text) => sendStaticFile(contextOf({ headers: { range: 'bytes=0-1', 'if-range': text } }), file, () => ''),
  },
  {
    name: 'header Range',
    limit: header,
    frames: [
      ['', ''],
      ['bytes=', ''],
      ['bytes=0-', ''],
    ],
    parse: withHeader('range', (ctx) => sendStaticFile(ctx, file, () => '')),
  },
  {
    name: 'header Accept-Encoding of a file',
    limit: header,
    frames: [
      ['', ''],
      ['br;q=', ''],
    ],
    parse: withHeader('accept-encoding', (ctx) => sendStaticFile(ctx, file, () => '')),
  },
  {
    name: 'header If-None-Match of a file',
    limit: header,
    parse: withHeader('if-none-match', (ctx) => sendStaticFile(ctx, file, () => '')),
  },
  {
    name: 'header Accept-Encoding',
    limit: header,
    frames: [
      ['', ''],
      ['br;q=', ''],
    ],
    parse: withHeader('accept-encoding', (ctx) => {
      ctx.body = { text: 'a'.repeat(2000) };
      return chooseEncoding(ctx);
    }),
  },
  {
    name: 'header Accept-Language',
    limit: header,
    frames: [
      ['', ''],
      ['en;q=', ''],
    ],
    parse: withHeader('accept-language', (ctx) => language(ctx)),
  },
  { name: 'ui_locales', limit: header, parse: (text) => language(contextOf({}), text) },
  { name: 'header X-Forwarded-For', limit: header, parse: (text) => networkOf(addressOf('10.0.0.1', text)) },
  {
    name: 'address',
    limit: header,
    frames: [
      ['', ''],
      ['::', ''],
    ],
    parse: networkOf,
  },
  {
    name: 'header Sec-WebSocket-Protocol',
    limit: header,
    frames: [
      ['', ''],
      ['base64url.bearer.authorization.k8s.io.', ''],
    ],
    parse: takesUpgrade,
  },
  { name: 'headers that are passed on', limit: header, parse: (text) => passedHeaders({ connection: text, accept: text }, false) },
  {
    name: 'cookie of a session',
    limit: header,
    frames: [
      ['', ''],
      [`${cookies.host('session')}=`, ''],
    ],
    parse: withHeader('cookie', (ctx) => session.read(ctx)),
  },
  {
    name: 'cookies of a login',
    limit: header,
    frames: [
      ['', ''],
      [`${cookies.host('flow')}_`, ''],
    ],
    parse: withHeader('cookie', (ctx) => flows.find(ctx, 'a'.repeat(43))),
  },
  {
    name: 'cookies that a new login expires',
    limit: header,
    frames: [
      ['', ''],
      [`${cookies.host('flow')}_`, ''],
    ],
    parse: withHeader('cookie', (ctx) => family.set(ctx, 'aaaaaaaa', 'sealed', 600)),
  },
  ...queryParsers,
  ...bodyParsers,
];
