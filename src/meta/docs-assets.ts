import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import mount from 'koa-mount';
import serve from 'koa-static';
import swaggerPackage from 'swagger-ui-dist/package.json' with { type: 'json' };
import { unknownPath } from '../api/status.ts';
import { pageScript, pageStyle } from './docs-html.ts';

export const assetNames = ['page.css', 'page.js', 'swagger-ui.css', 'swagger-ui-bundle.js'] as const;
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
export function assetSender(directory?: string): (ctx: Context, name: AssetName) => Promise<void> {
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
