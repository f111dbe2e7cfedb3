/**
 * `GET /docs`: a page that shows the OpenAPI document and tries out its operations, on this host alone. The operations themselves define
 * the document.
 */
import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { bytes, compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { unknownPath } from '@atrium/objects/status.ts';
import type { Context, Middleware } from 'koa';
import mount from 'koa-mount';
import serve from 'koa-static';
import swaggerPackage from 'swagger-ui-dist/package.json' with { type: 'json' };
import { z } from 'zod';

/** HTML of the page. All addresses are relative to `/docs`, so that it works below any base path and behind any proxy. */
const pageHtml = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atrium API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/page.js" type="module"></script>
</head>
<body>
<main id="operations"><p id="state" role="status">The description is being read.</p></main>
<noscript><p>This page needs scripts. The same as text: <a href="openapi/v3">openapi/v3</a>.</p></noscript>
</body>
</html>
`;

const pageStyle = `body{margin:0}
#state,noscript p{margin:2rem;font:1rem/1.5 system-ui,sans-serif}
html.dark-mode,html.dark-mode body{background:#1c2022;color:#e4e6e6}
html.dark-mode .swagger-ui .opblock-tag svg{fill:#e4e6e6}
.swagger-ui .scheme-container{box-shadow:none}
.swagger-ui :focus-visible{outline:3px solid #4990e2;outline-offset:2px}
`;

/**
 * Script of the page. The description names the public address, but the page sends requests to its own origin, because its policy allows
 * no other. Pasted credentials are not stored.
 */
const pageScript = `const base = new URL('.', document.baseURI).href.replace(/[/]$/, '');
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);

const answer = await fetch(base + '/openapi/v3', { headers: { Accept: 'application/json' } });
if (answer.ok) {
  const description = await answer.json();
  SwaggerUIBundle({
    spec: { ...description, servers: [{ url: base }] },
    domNode: document.getElementById('operations'),
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    filter: true,
    persistAuthorization: false,
    validatorUrl: null,
  });
} else document.getElementById('state').textContent = 'The description could not be read: ' + answer.status;
`;

const assetNames = ['page.css', 'page.js', 'swagger-ui.css', 'swagger-ui-bundle.js'] as const;
type AssetName = (typeof assetNames)[number];

/** Directory of the package: installed, or beside the program in a build, which adds `.gz` files. */
const installed = () => dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui.css')));

const own: Partial<Record<AssetName, { bytes: Buffer; type: string; etag: string }>> = {
  'page.css': ownFile(pageStyle, 'text/css'),
  'page.js': ownFile(pageScript, 'text/javascript'),
};

function ownFile(text: string, type: string) {
  return { bytes: Buffer.from(text), type: `${type}; charset=utf-8`, etag: `"${hash('sha256', text).slice(0, 32)}"` };
}

/** Sends a file of the page: its own two, and those of a directory. Files that the build has not compressed are read once. */
function assetSender(directory?: string): (ctx: Context, name: AssetName) => Promise<void> {
  let files: Middleware | undefined;
  const read = new Map<AssetName, Promise<Buffer>>();
  return async (ctx, name) => {
    ctx.vary('Accept-Encoding');
    ctx.set('Cache-Control', 'no-cache');
    const file = own[name];
    if (file !== undefined) {
      ctx.set('ETag', file.etag);
      ctx.body = file.bytes;
      ctx.type = file.type;
      return;
    }
    files ??= filesOf(directory ?? installed());
    await files(ctx, async () => {
      throw unknownPath();
    });
    if (ctx.res.hasHeader('Content-Encoding')) return;
    // Compressed forms belong to a buffer, so each file keeps its buffer.
    const reading = read.get(name) ?? buffer(ctx.body as Readable);
    read.set(name, reading);
    reading.catch(() => read.delete(name));
    const { type } = ctx;
    ctx.body = await reading;
    ctx.type = type;
  };
}

/** Serves the files with an ETag, which koa-static lacks. Files change with the version of their package, and encodings differ in size. */
const filesOf = (directory: string): Middleware =>
  mount(
    '/docs',
    serve(directory, {
      index: false,
      setHeaders: (response, _path, { size }) => response.setHeader('ETag', `"${swaggerPackage.version}-${size}"`),
    }),
  );

/** Policy of the page. Images are data URIs in the style sheet. Inline code and other hosts are forbidden. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const pageTag = `"${hash('sha256', pageHtml).slice(0, 32)}"`;
const etag = { ETag: 'ETag of the page.' };

/**
 * @param basePath base path of the service, without a trailing slash
 * @param directory directory of the third-party files; default: their package
 */
export const docsPageOperations = (basePath: string, directory?: string): Operation[] => {
  const sendAsset = assetSender(directory);
  return [
    operation({
      id: 'Docs',
      method: 'GET',
      paths: ['/docs'],
      ignoredQuery: 'all',
      tag: 'operations',
      summary: 'Shows this description as a page that can send requests',
      credential: 'none',
      answers: { 200: { description: 'The page.', content: { 'text/html': bytes }, headers: etag } },
      handle: ({ ctx }) => sendPage(ctx),
    }),
    operation({
      id: 'DocsDirectory',
      method: 'GET',
      paths: ['/docs/'],
      ignoredQuery: 'all',
      tag: 'operations',
      summary: 'Redirects to `/docs`, because relative links would not work here',
      credential: 'none',
      answers: { 308: { description: 'The page is at `/docs`.', headers: { Location: 'The path of the page.' } } },
      handle({ ctx }) {
        ctx.status = 308;
        ctx.set('Location', `${basePath}/docs`);
      },
    }),
    operation({
      id: 'DocsFile',
      method: 'GET',
      paths: ['/docs/:file'],
      ignoredQuery: 'all',
      tag: 'operations',
      summary: 'Serves a script or style sheet of the page',
      credential: 'none',
      before: [compressed],
      params: z.object({ file: z.enum(assetNames).describe('Name of the file.') }),
      answers: {
        200: { description: 'The file.', content: { 'text/css': bytes, 'text/javascript': bytes }, headers: etag },
        404: { description: 'The file does not exist.' },
      },
      handle: ({ ctx, params: { file } }) => sendAsset(ctx, file),
    }),
  ];
};

function sendPage(ctx: Context): void {
  ctx.set({ 'Content-Security-Policy': policy, 'X-Frame-Options': 'DENY', 'Cache-Control': 'no-cache', ETag: pageTag });
  ctx.body = pageHtml;
  ctx.type = 'text/html; charset=utf-8';
}
