/**
 * Measures Node.js and Koa by themselves: serves the files of a folder from memory, with a type and a length. Koa reads the body of a POST
 * as text before it answers.
 *
 * node bench/peers/bare.ts node|koa PORT FOLDER
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';

const [, , kind, port, folder = '.'] = process.argv;
const files = new Map(readdirSync(folder).map((name) => [`/${name}`, readFileSync(join(folder, name))]));
const type = 'application/octet-stream';

const node: RequestListener = (request, response) => {
  const bytes = files.get(request.url ?? '');
  if (bytes === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes);
};

function koa(): RequestListener {
  const app = new Koa();
  const parse = bodyParser({ enableTypes: ['text'], extendTypes: { text: ['application/json'] } });
  app.use((ctx, next) => (ctx.method === 'POST' ? parse(ctx, next) : next()));
  app.use((ctx) => {
    const bytes = files.get(ctx.path);
    if (bytes === undefined) return;
    ctx.type = type;
    ctx.body = bytes;
  });
  return app.callback();
}

createServer(kind === 'koa' ? koa() : node).listen(Number(port), '127.0.0.1');
