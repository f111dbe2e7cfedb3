/**
 * Measures Koa and undici by themselves: forwards GET requests to an API server with a token, and streams the answers.
 *
 * API_SERVER=URL API_TOKEN=TOKEN API_AUTHORITY=FILE node bench/peers/bare-proxy.ts PORT
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Koa from 'koa';
import { Agent } from 'undici';

const { API_SERVER: origin = '', API_TOKEN: token, API_AUTHORITY: authority = '' } = process.env;
const agent = new Agent({ connect: { ca: readFileSync(authority) } });

const app = new Koa();
app.use(async (ctx) => {
  const headers = { authorization: `Bearer ${token}`, accept: ctx.get('accept') || '*/*' };
  const answer = await agent.request({ origin, path: ctx.url, method: 'GET', headers });
  ctx.status = answer.statusCode;
  ctx.set('Content-Type', String(answer.headers['content-type']));
  ctx.body = answer.body;
});
createServer(app.callback()).listen(Number(process.argv[2]), '127.0.0.1');
