/**
 * `GET /docs`: a page that shows the OpenAPI document and tries out its operations, on this host alone. The operations themselves define
 * the document.
 */
import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { z } from 'zod';
import { bytes, type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
import { assetNames, assetSender } from './docs-assets.ts';
import { pageHtml } from './docs-html.ts';

/** Policy of the page. Images are data URIs in the style sheet. Inline code and other hosts are forbidden. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const pageTag = `"${hash('sha256', pageHtml).slice(0, 32)}"`;
const etag = { ETag: 'Of these bytes.' };

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
      summary: 'A page that shows this description and tries it out',
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
      summary: 'Leads to the page, whose links would not work here',
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
      summary: 'A script or style sheet of the page',
      credential: 'none',
      before: [compressed],
      params: z.object({ file: z.enum(assetNames).describe('Name of the file.') }),
      answers: {
        200: { description: 'The file.', content: { 'text/css': bytes, 'text/javascript': bytes }, headers: etag },
        404: { description: 'There is no such file.' },
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
