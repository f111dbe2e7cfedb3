import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { type Api, administratorToken, apiOf } from './api.ts';

const asked = z.object({
  apiVersion: z.literal('authentication.k8s.io/v1'),
  kind: z.literal('TokenReview'),
  spec: z.object({ token: z.string(), audiences: z.array(z.string()) }),
});
const selfReview = z.object({
  status: z.object({
    userInfo: z.object({
      username: z.string(),
      uid: z.string().optional(),
      groups: z.array(z.string()),
      extra: z.record(z.string(), z.array(z.string())).optional(),
    }),
  }),
});
const ownAudience = 'https://kubernetes.default.svc';

describe('a token webhook that the embedded cluster asks', () => {
  let cluster: Cluster;
  let webhook: Server;
  /** A clock that only the test moves, so that no cached answer expires by itself. */
  let now: Date;
  /** Answer about a token; a number is the HTTP status of a failure. */
  let verdict: object | number = 500;
  let questions: { authorization: string | undefined; review: z.output<typeof asked> }[] = [];
  const apis: Api[] = [];

  const answer = async (message: IncomingMessage) => {
    questions.push({ authorization: message.headers.authorization, review: asked.parse(JSON.parse(await text(message))) });
    return typeof verdict === 'number' ? { code: verdict, body: {} } : { code: 201, body: { kind: 'TokenReview', status: verdict } };
  };

  before(async () => {
    webhook = createServer((message, response) => {
      void answer(message).then(({ code, body }) => response.writeHead(code).end(JSON.stringify(body)));
    }).listen(0, '127.0.0.1');
    await once(webhook, 'listening');
  });
  after(() => webhook.close());
  beforeEach(async () => {
    now = new Date();
    questions = [];
    cluster = await Cluster.start({ now: () => now });
    const address = webhook.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    cluster.askTokenWebhook({ url: `http://127.0.0.1:${port}/reviews`, token: 'credential' });
  });
  afterEach(async () => {
    for (const api of apis.splice(0)) await api.close();
    await cluster.stop();
  });

  const send = (token: string, path: string, body: unknown) => {
    const api = apiOf(cluster, token);
    apis.push(api);
    return api.send('POST', path, body);
  };
  const who = async (token: string) => {
    const { status, body } = await send(token, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
    return status === 201 ? selfReview.parse(body).status.userInfo : status;
  };

  it('identifies the user of a token of an unknown issuer, and is not called again at once', async () => {
    verdict = { authenticated: true, user: { username: 'jane', uid: '7', groups: ['dev'], extra: { 'example.com/id': ['x'] } } };
    const jane = { username: 'jane', uid: '7', groups: ['dev', 'system:authenticated'], extra: { 'example.com/id': ['x'] } };

    expect([await who('opaque'), await who('opaque')]).to.deep.equal([jane, jane]);
    expect(questions.map(({ authorization, review }) => [authorization, review.spec])).to.deep.equal([
      ['Bearer credential', { token: 'opaque', audiences: [ownAudience] }],
    ]);
    verdict = { authenticated: false };
    now = new Date(now.getTime() + 11_000);
    expect(await who('opaque')).to.equal(401);
  });

  it('is not asked about tokens of the cluster itself', async () => {
    expect(await who(await cluster.issueToken({ username: 'bob' }))).to.include({ username: 'bob' });
    expect(questions).to.deep.equal([]);
  });

  it('refuses a caller if the webhook fails, says no, or names no user', async () => {
    for (const refused of [
      500,
      401,
      { authenticated: false },
      {},
      { authenticated: true },
      { authenticated: true, user: { username: '' } },
    ]) {
      verdict = refused;
      expect(await who('opaque'), JSON.stringify(refused)).to.equal(401);
    }
  });

  it('stands for the API server if it names no audience', async () => {
    const admin = await administratorToken(cluster);
    const review = async (audiences?: string[]) => {
      const { body } = await send(admin, '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'opaque', audiences } });
      return z.object({ status: z.object({ authenticated: z.boolean().default(false) }) }).parse(body).status.authenticated;
    };
    verdict = { authenticated: true, user: { username: 'jane' } };
    expect([await review(), await review([ownAudience]), await review(['vault'])]).to.deep.equal([true, true, false]);
    verdict = { ...verdict, audiences: ['vault'] };
    expect([await review(), await review(['vault', 'other'])]).to.deep.equal([false, true]);
  });
});
