import { type OutgoingHttpHeaders, request } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser } from '../identity/browser.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { answerTo, closeOpened, cookieOf, echo, email, exec, logIn, type Opened, openUpgrade, startProxy, things } from './support.ts';

const base64url = (token: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

describe('the proxy for connections in another protocol', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startProxy(between));
  let token: string;
  let browser: Browser;

  before(async () => {
    token = await server.token('alice');
    browser = await logIn(server);
  });
  beforeEach(() => {
    between.received.length = 0;
    echo(between);
    between.handle = (_request, response) => response.setHeader('Content-Type', 'application/json').end('{}');
  });
  afterEach(closeOpened);

  const cookie = () => cookieOf(browser);
  const open = (headers: OutgoingHttpHeaders, way = {}) => openUpgrade(server, headers, way);
  const reason = ({ status, body }: Opened) => [status, JSON.parse(body).details?.causes?.[0]?.reason];

  it('KPX-03 opens a WebSocket by cookie for pages of the console only', async () => {
    const origins: Record<string, OutgoingHttpHeaders> = {
      none: {},
      null: { Origin: 'null' },
      evil: { Origin: 'https://evil.example' },
      sibling: { Origin: 'http://evil.127.0.0.1' },
      'evil, and the browser says ours': { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' },
      'none, and the browser says ours': { 'Sec-Fetch-Site': 'same-origin' },
    };
    for (const [name, headers] of Object.entries(origins))
      expect(reason(await open({ ...cookie(), ...headers })), name).to.deep.equal([403, 'CrossSiteRequest']);
    expect(reason(await open({ ...cookie(), Origin: server.url }, { method: 'POST', protocol: 'SPDY/3.1' }))).to.deep.equal([
      403,
      'CrossSiteRequest',
    ]);
    expect(between.received).to.deep.equal([]);

    expect((await open({ ...cookie(), Origin: server.url, 'Sec-Fetch-Dest': 'websocket' })).status).to.equal(101);
  });

  it('KPX-03 opens one by bearer without an Origin, SPDY too, and tells the API server its own', async () => {
    const { status, headers } = await open({
      Authorization: `Bearer ${token}`,
      Cookie: 'a=b',
      'Sec-WebSocket-Protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
      'Sec-WebSocket-Extensions': 'permessage-deflate',
      'X-Forwarded-For': '10.0.0.1',
    });
    expect(status).to.equal(101);
    expect(headers).to.deep.include({
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
      'sec-websocket-accept': 'x',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    });
    expect(headers).to.not.have.property('set-cookie');
    const { host, origin, ...sent } = between.last.headers;
    expect(origin).to.equal(`https://${host}`);
    expect(sent).to.deep.equal({
      connection: 'Upgrade',
      upgrade: 'websocket',
      authorization: `Bearer ${token}`,
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
      'sec-websocket-extensions': 'permessage-deflate',
    });

    const spdy = { 'X-Stream-Protocol-Version': 'v4.channel.k8s.io', Authorization: `Bearer ${token}`, 'Content-Length': '0' };
    expect((await open(spdy, { method: 'POST', protocol: 'SPDY/3.1' })).headers.upgrade).to.equal('SPDY/3.1');
    expect(between.last.headers).to.include({ upgrade: 'spdy/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' });
    expect(between.last.headers).to.not.have.property('origin');
  });

  it('AUZ-04 opens one by cookie in the name of the person, with nothing that they sent', async () => {
    await open({ ...cookie(), Origin: server.url });
    const { authorization, cookie: sent, 'impersonate-user': user } = between.last.headers;
    expect([sent, user]).to.deep.equal([undefined, email]);
    expect(authorization).to.match(/^Bearer /);
  });

  it('KPX-03 answers any other Upgrade as if it were not there', async () => {
    const others: Record<string, string[]> = { GET: ['h2c', 'SPDY/3.1', 'websocket, h2c', 'TLS/1.0'], POST: ['websocket'] };
    for (const [method, protocol] of Object.entries(others).flatMap(([way, protocols]) => protocols.map((one) => [way, one] as const))) {
      const { status, body } = await open({ Authorization: `Bearer ${token}` }, { method, path: things, protocol });
      expect([status, body], `${method} ${protocol}`).to.deep.equal([200, '{}']);
      expect(between.last.headers).to.not.have.property('upgrade');
    }
    const elsewhere = await open({}, { path: '/api/v1/modules' });
    expect(elsewhere.status).to.equal(200);
    expect((await open({ Authorization: `Bearer ${token}` }, { path: '/api/kubernetesx/api' })).status).to.equal(404);
  });

  it('KPX-02 takes one token from the sub-protocols, never beside another, and never sends it on', async () => {
    const good = base64url(token);
    const bad = base64url('nonsense');
    const withProtocols = (protocols: string, headers: OutgoingHttpHeaders = {}) =>
      open({ 'Sec-WebSocket-Protocol': protocols, ...headers });
    const refused: [string, OutgoingHttpHeaders?][] = [
      [`${good}, v4.channel.k8s.io`, { Authorization: `Bearer ${token}` }],
      [`${good}, v4.channel.k8s.io`, { Authorization: 'Bearer nonsense' }],
      [`${good}, v4.channel.k8s.io`, { Authorization: 'Basic YTpi' }],
      [`v4.channel.k8s.io,${bad}`, { Authorization: `Bearer ${token}` }],
      [`${good}, ${good}, v4.channel.k8s.io`],
      [`${bad}, ${good}`],
      [`${bad}, v4.channel.k8s.io`],
      ['base64url.bearer.authorization.k8s.io., v4.channel.k8s.io'],
      [`${good}=, v4.channel.k8s.io`],
      [`${good}, v4.channel.k8s.io`, { Authorization: '' }],
      [`${base64url('a b')}, v4.channel.k8s.io`],
      [`${bad}, v4.channel.k8s.io`, { ...cookie(), Origin: server.url }],
    ];
    for (const [protocols, headers] of refused) expect((await withProtocols(protocols, headers)).status, protocols).to.equal(401);
    expect(between.received).to.deep.equal([]);

    const { status, headers } = await withProtocols(`v5.channel.k8s.io , ${good},v4.channel.k8s.io`);
    expect([status, headers['sec-websocket-protocol']]).to.deep.equal([101, 'v5.channel.k8s.io']);
    expect(between.last.headers).to.include({
      authorization: `Bearer ${token}`,
      'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
    });
    await withProtocols(good);
    expect(between.last.headers).to.not.have.property('sec-websocket-protocol');
    // Without an upgrade, the header is no credential.
    const plain = await server.request(exec, { headers: { 'Sec-WebSocket-Protocol': good } });
    expect(plain.status).to.equal(401);
    for (const line of [...server.logLines, ...server.auditLines]) expect(line).to.not.contain(good.split('.').at(-1));
  });

  it('carries bytes both ways, from the first one on', async () => {
    const { socket } = await open({ Authorization: `Bearer ${token}` });
    let received = '';
    socket?.on('data', (chunk) => {
      received += chunk;
    });
    socket?.write('one');
    await eventually(
      () => received,
      (all) => all === 'helloecho one',
    );
  });

  it('gives back a refusal of the API server with its own Status', async () => {
    const body = '{"kind":"Status","code":403,"message":"pods \\"x\\" is forbidden"}';
    between.upgrade = (_request, socket) =>
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nAudit-Id: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    const refused = await open({ Authorization: `Bearer ${token}` });
    expect(refused).to.deep.include({ status: 403, body, socket: undefined });
    expect(refused.headers).to.include({ 'audit-id': 'a', 'cross-origin-resource-policy': 'same-origin', connection: 'close' });

    between.upgrade = (_request, socket) => socket.destroy();
    expect(await open({ Authorization: `Bearer ${token}` })).to.include({ status: 503 });
    between.upgrade = (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n');
    expect(await open({ Authorization: `Bearer ${token}` })).to.include({ status: 503 });
  });

  it('KPX-05 answers only scripts of the console by cookie: no image, frame, link, script, or page of another site', async () => {
    const refused: OutgoingHttpHeaders[] = [
      ...['image', 'script', 'iframe', 'document', 'style', 'object', 'worker', 'serviceworker', 'embed', 'report'].map((dest) => ({
        'Sec-Fetch-Site': 'same-origin',
        'Sec-Fetch-Dest': dest,
      })),
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'empty' },
      { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Dest': 'empty' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
    ];
    for (const headers of refused) {
      const call = request(`${server.url}${things}`, { headers: { ...cookie(), ...headers } });
      expect(reason(await answerTo(call)), JSON.stringify(headers)).to.deep.equal([403, 'CrossSiteRequest']);
    }
    expect(between.received).to.deep.equal([]);
    for (const headers of [{}, { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Dest': 'empty' }, { Origin: server.url }])
      expect((await answerTo(request(`${server.url}${things}`, { headers: { ...cookie(), ...headers } }))).status).to.equal(200);
    // A page cannot send a bearer token that it does not know.
    const bearer = { Authorization: `Bearer ${token}`, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'image' };
    expect((await answerTo(request(`${server.url}${things}`, { headers: bearer }))).status).to.equal(200);
  });

  it('LIM-11 lets one caller have 100 watches and connections, and others theirs', async () => {
    between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).write('{}\n');
    const ends = new AbortController();
    const watch = (as: 'alice' | 'bob') => server.request(`${things}?watch=1`, { as, signal: ends.signal });
    // The garbage collector cancels an answer that is not referenced.
    const answers: Response[] = [];
    await eventually(
      async () => {
        const answer = await watch('alice');
        answers.push(answer);
        return answer.status;
      },
      (status) => status === 429,
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(100);
    expect(await open({ Authorization: `Bearer ${token}` })).to.include({ status: 429 });
    expect((await watch('bob')).status).to.equal(200);
    ends.abort();
    await eventually(
      () => open({ Authorization: `Bearer ${token}` }),
      ({ status }) => status === 101,
    );
  });
});
